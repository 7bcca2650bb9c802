//===- Damage.cpp - parameters that an exporter merged or dropped ---------===//

#include "frontend/exporter/Damage.h"

#include "frontend/base/Error.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace zerograph::frontend {

/// What a user of somebody else's file can do.
static const char *const kWayOut =
    " If you cannot export it again, --allow-exporter-damage trains the file "
    "as it is: ";

/// `list` is refused, with what to do about it, or, if the user allows damage,
/// a warning.
static void refuseOrWarn(const std::string &list, const std::string &remedy,
                         const ImportOptions &options, ImportReport &report) {
  if (!options.allow_exporter_damage) {
    fail(list, "\n", remedy);
  }
  report.warnings.push_back(list);
}

/// Merging and renaming harm nothing that stays as it is.
static void checkMerged(const ExporterSignature &signature,
                        const std::set<std::string> &trained,
                        const ImportOptions &options, ImportReport &report) {
  std::vector<std::string> merged;
  for (const MergedParameter &parameter : signature.merged) {
    if (trained.count(parameter.initializer) != 0) {
      merged.push_back(parameter.what);
    }
  }
  if (merged.empty()) {
    return;
  }
  refuseOrWarn(
      absl::StrCat(merged.size(),
                   " parameters were merged with equal ones or renamed by the "
                   "exporter:\n  ",
                   absl::StrJoin(merged, "\n  ")),
      absl::StrCat(
          "Training would tie them, and weights would not load back. Export "
          "again with torch.onnx.export(..., dynamo=False, "
          "training=torch.onnx.TrainingMode.TRAINING, "
          "do_constant_folding=False).",
          kWayOut,
          "merged parameters stay one, and renamed ones are saved by the names "
          "that the file gives them"),
      options, report);
}

/// Computed copies of what stays as it is are right.
static void checkFolded(const ExporterSignature &signature,
                        const std::set<std::string> &trained,
                        const ImportOptions &options, ImportReport &report) {
  std::vector<std::string> folded;
  for (const FoldedWeight &weight : signature.folded) {
    if (weight.parameter.empty()) {
      folded.push_back(
          absl::StrCat(weight.name, " (node '", weight.reader,
                       "' reads it; made of a parameter that is gone, one of: ",
                       absl::StrJoin(weight.candidates, ", "), ")"));
    } else if (trained.count(weight.parameter) != 0) {
      folded.push_back(absl::StrCat(weight.name, " (node '", weight.reader,
                                    "' reads it; made of parameter '",
                                    weight.parameter, "')"));
    }
  }
  if (folded.empty()) {
    return;
  }
  refuseOrWarn(
      absl::StrCat(folded.size(),
                   " weights were computed of parameters by the exporter's "
                   "optimizer, which took these for constants:\n  ",
                   absl::StrJoin(folded, "\n  ")),
      absl::StrCat("Training would leave these as they are, and no gradient "
                   "would go from there to the parameters. Export again with "
                   "torch.onnx.export(..., optimize=False).",
                   kWayOut,
                   "these weights stay constants, unless --train names them"),
      options, report);
}

static void checkLost(const ExporterSignature &signature,
                      const ImportOptions &options, ImportReport &report) {
  if (signature.damaged.empty()) {
    return;
  }
  auto projection = absl::c_find_if(signature.damaged, [](const auto &name) {
    size_t dot = name.find_last_of('.');
    return absl::StartsWith(name.substr(dot + 1), "weight_hr_l");
  });
  if (projection != signature.damaged.end()) {
    fail("parameter '", *projection, "' is of an LSTM with proj_size. ",
         kProjectionAdvice);
  }
  refuseOrWarn(
      absl::StrCat(
          signature.damaged.size(),
          " parameters of the exported program are gone from the file; the "
          "exporter's optimizer took initializers for constants and merged, "
          "dropped or renamed them:\n  ",
          absl::StrJoin(signature.damaged, "\n  ")),
      absl::StrCat("Training would tie or lose them. Export again with "
                   "torch.onnx.export(..., optimize=False).",
                   kWayOut,
                   "what was merged stays one, and what was dropped or renamed "
                   "is not trained, unless --train names it"),
      options, report);
}

/// A tied parameter is not in the file, and neither is one that such a matrix
/// was made of.
static void warnOfComputed(const ExporterSignature &signature,
                           ImportReport &report) {
  if (signature.absent.empty()) {
    return;
  }
  for (const FoldedWeight &matrix : signature.computed) {
    report.warnings.push_back(absl::StrCat(
        "'", matrix.name, "', by which node '", matrix.reader,
        "' multiplies, is taken for a constant. If it was computed of a "
        "parameter that is gone (",
        absl::StrJoin(signature.absent, ", "),
        "), that is not trained: export with optimize=False"));
  }
}

void checkDamage(const ExporterSignature &signature,
                 const std::set<std::string> &trained,
                 const ImportOptions &options, ImportReport &report) {
  for (const std::string &name : signature.absent) {
    report.notes.push_back(absl::StrCat(
        "the exported module's parameter '", name,
        "' is not in the file under this name, and no node reads it: it is "
        "tied to one that the file holds, or unused; nothing to do"));
  }
  checkMerged(signature, trained, options, report);
  checkLost(signature, options, report);
  checkFolded(signature, trained, options, report);
  warnOfComputed(signature, report);
}

} // namespace zerograph::frontend
