//===- Damage.cpp - parameters that an exporter merged or dropped ---------===//

#include "frontend/exporter/Damage.h"

#include "frontend/base/Error.h"
#include "frontend/base/Suggest.h"
#include "frontend/exporter/FxCall.h"
#include "frontend/graph/GradientPath.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/base/Text.h"

namespace zerograph::frontend {

void refuseOrWarn(const std::string &list, const std::string &remedy,
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
                   linesOf(merged)),
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
                       listOf(weight.candidates, 10), ")"));
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
                   linesOf(folded)),
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
          linesOf(signature.damaged)),
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
        listOf(signature.absent, 10),
        "), that is not trained: export with optimize=False"));
  }
}

/// The weights of spectral norms whose power iteration the file lacks. In a
/// file that has it, one of the two vectors is computed from the other.
static std::vector<std::string>
fixedSpectralNorms(const Graph &graph, const std::set<std::string> &trained) {
  std::vector<std::string> found;
  auto holds = [&](const std::string &name) {
    return graph.initializers.count(name) != 0;
  };
  for (const std::string &weight : trained) {
    absl::string_view stem = weight;
    if (absl::ConsumeSuffix(&stem, "_orig")) {
      if (holds(absl::StrCat(stem, "_u")) && holds(absl::StrCat(stem, "_v"))) {
        found.push_back(weight);
      }
    } else if (absl::ConsumeSuffix(&stem, ".original") &&
               absl::StrContains(stem, "parametrizations.")) {
      if (holds(absl::StrCat(stem, ".0._u")) &&
          holds(absl::StrCat(stem, ".0._v"))) {
        found.push_back(weight);
      }
    }
  }
  return found;
}

static void checkSpectralNorms(const Graph &graph,
                               const std::set<std::string> &trained,
                               const ImportOptions &options,
                               ImportReport &report) {
  std::vector<std::string> found = fixedSpectralNorms(graph, trained);
  if (found.empty()) {
    return;
  }
  refuseOrWarn(
      absl::StrCat("the spectral norm of ", listOf(found, 8),
                   " was exported in evaluation mode, in which nothing follows "
                   "the weight's greatest singular value"),
      absl::StrCat("Remove it before you export "
                   "(torch.nn.utils.remove_spectral_norm).",
                   kWayOut,
                   "its vectors are not changed; name them by --freeze, as the "
                   "older exporter does not tell them from parameters"),
      options, report);
}

/// Buffers that a forward pass changes and the loss depends on. Those of a
/// normalization in training mode are its outputs.
static void checkBuffers(const Graph &graph, const std::string &loss,
                         const ImportOptions &options, ImportReport &report) {
  std::set<std::string> origins = graph.originsOf(loss);
  std::vector<std::string> found;
  for (const auto &[value, buffer] : changedBuffers(graph)) {
    const onnx::NodeProto &node = graph.proto.node(graph.producer.at(value));
    if (origins.count(buffer) != 0 && node.op_type() != "BatchNormalization") {
      found.push_back(
          absl::StrCat("'", buffer, "' (node '", nodeName(node), "')"));
    }
  }
  if (found.empty()) {
    return;
  }
  refuseOrWarn(
      absl::StrCat("each forward pass changes buffers that the loss depends "
                   "on, as a spectral norm does: ",
                   listOf(found, 8)),
      absl::StrCat("They would stay as they are, and gradients would flow "
                   "through what PyTorch computes without. Remove what changes "
                   "them before you export "
                   "(torch.nn.utils.parametrize.remove_parametrizations), or "
                   "make them inputs of the model.",
                   kWayOut, "the buffers are not changed"),
      options, report);
}

/// Results of detach() through which gradients of what is trained would flow.
static void checkDetached(const Graph &graph, int64_t opset,
                          const std::set<std::string> &trained,
                          const std::string &loss, const ImportOptions &options,
                          ImportReport &report) {
  std::vector<int> detached;
  for (int n = 0; n < graph.proto.node_size(); ++n) {
    if (fxCallOf(graph.proto.node(n)).isOf("detach")) {
      detached.push_back(n);
    }
  }
  if (detached.empty()) {
    return;
  }
  GradientPath gradient(graph, opset);
  std::vector<bool> reached = gradient.nodesReachedFrom(trained);
  std::vector<bool> reaching = gradient.nodesReaching(loss);
  std::vector<std::string> found;
  for (int n : detached) {
    if (reached[n] && reaching[n]) {
      found.push_back(absl::StrCat("'", nodeName(graph.proto.node(n)), "'"));
    }
  }
  if (found.empty()) {
    return;
  }
  refuseOrWarn(
      absl::StrCat("detach() stops gradients of what is trained at node ",
                   listOf(found, 8), ", which is not supported"),
      absl::StrCat("Make what is detached an input of the model, computed with "
                   "the data, or freeze what it is computed from (--freeze).",
                   kWayOut, "gradients flow through it"),
      options, report);
}

void checkDamage(const Graph &graph, int64_t opset,
                 const ExporterSignature &signature, const std::string &loss,
                 const std::set<std::string> &trained,
                 const ImportOptions &options, ImportReport &report) {
  if (!signature.absent.empty()) {
    report.remarks.push_back(absl::StrCat(
        "parameters of the exported module that the file does not hold under "
        "their names, and that no node reads: ",
        listOf(signature.absent, 10),
        "; they are tied to ones that it holds, or unused: nothing to do"));
  }
  checkMerged(signature, trained, options, report);
  checkLost(signature, options, report);
  checkFolded(signature, trained, options, report);
  checkSpectralNorms(graph, trained, options, report);
  checkBuffers(graph, loss, options, report);
  checkDetached(graph, opset, trained, loss, options, report);
  warnOfComputed(signature, report);
}

} // namespace zerograph::frontend
