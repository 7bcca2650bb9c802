//===- Damage.cpp - parameters that an exporter merged or dropped ---------===//

#include "frontend/exporter/Damage.h"

#include "frontend/base/Error.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace zerograph::frontend {

/// `list` is refused, with what to do about it, or, if the user allows damage,
/// a warning.
static void refuseOrWarn(const std::string &list, const char *remedy,
                         const ImportOptions &options, ImportReport &report) {
  if (!options.allow_exporter_damage) {
    fail(list, "\n", remedy);
  }
  report.warnings.push_back(list);
}

static void checkMerged(const ExporterSignature &signature,
                        const ImportOptions &options, ImportReport &report) {
  if (signature.merged.empty()) {
    return;
  }
  refuseOrWarn(
      absl::StrCat(signature.merged.size(),
                   " parameters were merged with equal ones or renamed by the "
                   "exporter:\n  ",
                   absl::StrJoin(signature.merged, "\n  ")),
      "Training would tie them, and weights would not load back. Export "
      "again with torch.onnx.export(..., dynamo=False, "
      "training=torch.onnx.TrainingMode.TRAINING, "
      "do_constant_folding=False).",
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
      "Training would tie or lose them. Export again with "
      "torch.onnx.export(..., optimize=False).",
      options, report);
}

void checkDamage(const ExporterSignature &signature,
                 const ImportOptions &options, ImportReport &report) {
  for (const std::string &name : signature.absent) {
    report.notes.push_back(absl::StrCat(
        "the exported module's parameter '", name,
        "' is not in the file under this name, and no node reads it: it is "
        "tied to one that the file holds, or unused; nothing to do"));
  }
  checkMerged(signature, options, report);
  checkLost(signature, options, report);
}

} // namespace zerograph::frontend
