//===- Parameters.cpp - which initializers are parameters, and whose ------===//

#include "frontend/exporter/Parameters.h"

#include "frontend/base/Error.h"
#include "frontend/base/Suggest.h"
#include "frontend/graph/GradientPath.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <optional>

#include <fnmatch.h>

namespace zerograph::frontend {

namespace {

using mlir::zg::nn::InitKind;

std::string lastPart(const std::string &name) {
  return name.substr(name.find_last_of('.') + 1);
}

/// Names that frameworks give to state that is not trained.
bool isBufferName(const std::string &name) {
  static const std::set<std::string> known = {
      "running_mean", "running_var",  "num_batches_tracked", "inv_freq",
      "masked_bias",  "position_ids", "token_type_ids",      "causal_mask"};
  std::string last = lastPart(name);
  return known.count(last) != 0 ||
         absl::StrContains(absl::AsciiStrToLower(last), "mask");
}

/// Reads initializers through nodes that only rearrange or convert.
class Uses {
public:
  explicit Uses(const Graph &graph) : graph(graph) {}

  /// Calls visit(node, input index) for each use of `name`.
  template <typename F>
  void each(const std::string &name, F visit) const {
    static const std::set<std::string> transparent = {
        "Identity", "Cast",    "CastLike",  "Reshape",
        "Squeeze",  "Flatten", "Unsqueeze", "Expand"};
    std::vector<std::string> work = {name};
    std::set<std::string> seen = {name};
    while (!work.empty()) {
      std::string value = std::move(work.back());
      work.pop_back();
      auto found = graph.users.find(value);
      if (found == graph.users.end()) {
        continue;
      }
      for (int n : found->second) {
        const auto &node = graph.proto.node(n);
        if (auto bodies = graph.bodies.find(n); bodies != graph.bodies.end()) {
          for (const Graph &body : bodies->second) {
            if (body.captured.count(value) != 0) {
              Uses(body).each(value, visit);
            }
          }
        }
        for (int i = 0; i < node.input_size(); ++i) {
          if (node.input(i) != value) {
            continue;
          }
          if (i == 0 && transparent.count(node.op_type()) != 0) {
            for (const std::string &output : node.output()) {
              if (seen.insert(output).second) {
                work.push_back(output);
              }
            }
          } else {
            visit(node, i);
          }
        }
      }
    }
  }

private:
  const Graph &graph;
};

InitKind initOf(const onnx::TensorProto &tensor, const Uses &uses) {
  std::optional<InitKind> init;
  int64_t longDims = 0;
  for (int64_t dim : tensor.dims()) {
    longDims += dim > 1;
  }
  bool vector = longDims <= 1;
  uses.each(tensor.name(), [&](const onnx::NodeProto &node, int i) {
    const std::string &op = node.op_type();
    std::optional<InitKind> found;
    if (absl::EndsWith(op, "Normalization")) {
      // scale, bias, mean, variance
      found = i == 1 || i == 4 ? InitKind::ones : InitKind::zeros;
    } else if ((op == "Gemm" || op == "Conv" || op == "ConvTranspose") &&
               i == 2) {
      found = InitKind::zeros;
    } else if ((op == "Add" || op == "Sub") && vector) {
      found = InitKind::zeros;
    } else if ((op == "Mul" || op == "Div") && vector) {
      found = InitKind::ones;
    } else {
      found = InitKind::normal;
    }
    if (!init) {
      init = found;
    } else if (*init != *found) {
      init = InitKind::normal;
    }
  });
  return init.value_or(InitKind::normal);
}

/// The dotted path of the module that owns a parameter.
std::string moduleOf(const onnx::TensorProto &tensor, const Uses &uses) {
  const std::string &name = tensor.name();
  if (size_t dot = name.find_last_of('.');
      dot != std::string::npos && !absl::StrContains(name, "::")) {
    return name.substr(0, dot);
  }
  // Renamed by the exporter: the module of the first node that uses it, from
  // metadata ("['', 'h.0', 'h.0.fc', 'linear']") or a path ("/h.0/fc/Gemm").
  std::string module;
  uses.each(name, [&](const onnx::NodeProto &node, int) {
    if (!module.empty()) {
      return;
    }
    for (const auto &entry : node.metadata_props()) {
      if (entry.key() == "pkg.torch.onnx.name_scopes") {
        std::vector<std::string> scopes = absl::StrSplit(
            entry.value(), absl::ByAnyChar("[]', "), absl::SkipEmpty());
        if (scopes.size() >= 2) {
          module = scopes[scopes.size() - 2];
        }
        return;
      }
    }
    if (absl::StartsWith(node.name(), "/")) {
      size_t end = node.name().find_last_of('/');
      if (end > 1) {
        module =
            absl::StrReplaceAll(node.name().substr(1, end - 1), {{"/", "."}});
      }
    }
  });
  return module;
}

/// The first of the patterns that matches `name`, or null; notes all that do.
const std::string *match(const std::vector<std::string> &patterns,
                         const std::string &name, std::vector<bool> &used) {
  const std::string *first = nullptr;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (fnmatch(patterns[i].c_str(), name.c_str(), 0) == 0) {
      used[i] = true;
      first = first == nullptr ? &patterns[i] : first;
    }
  }
  return first;
}

/// Adds a line for each pattern that matched nothing.
void addUnused(const char *option, const std::vector<std::string> &patterns,
               const std::vector<bool> &used,
               const std::vector<std::string> &names,
               std::vector<std::string> &problems) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!used[i]) {
      problems.push_back(
          absl::StrCat(option, " ", patterns[i],
                       ": no float initializer has a name that matches",
                       suggestFor(patterns[i], names)));
    }
  }
}

void checkDamage(const ExporterSignature &signature,
                 const ImportOptions &options, ImportReport &report) {
  for (const std::string &name : signature.absent) {
    report.notes.push_back(absl::StrCat(
        "the exported module's parameter '", name,
        "' is not in the file under this name, and no node reads it: it is "
        "tied to one that the file holds, or unused; nothing to do"));
  }
  if (!signature.merged.empty()) {
    std::string list = absl::StrCat(
        signature.merged.size(),
        " parameters were merged with equal ones or renamed by the exporter:"
        "\n  ",
        absl::StrJoin(signature.merged, "\n  "));
    if (!options.allow_exporter_damage) {
      fail(list,
           "\nTraining would tie them, and weights would not load back. Export "
           "again with torch.onnx.export(..., dynamo=False, "
           "training=torch.onnx.TrainingMode.TRAINING, "
           "do_constant_folding=False).");
    }
    report.warnings.push_back(list);
  }
  if (signature.damaged.empty()) {
    return;
  }
  auto projection = absl::c_find_if(signature.damaged, [](const auto &name) {
    return absl::StartsWith(lastPart(name), "weight_hr_l");
  });
  if (projection != signature.damaged.end()) {
    fail("parameter '", *projection, "' is of an LSTM with proj_size. ",
         kProjectionAdvice);
  }
  std::string list = absl::StrCat(
      signature.damaged.size(),
      " parameters of the exported program are gone from the file; the "
      "exporter's optimizer took initializers for constants and merged, "
      "dropped or renamed them:\n  ",
      absl::StrJoin(signature.damaged, "\n  "));
  if (!options.allow_exporter_damage) {
    fail(list, "\nTraining would tie or lose them. Export again with "
               "torch.onnx.export(..., optimize=False).");
  }
  report.warnings.push_back(list);
}

struct Decider {
  const ModelFile &file;
  const Graph &graph;
  const ImportOptions &options;
  const ExporterSignature &signature;
  const Uses &uses;
  GradientPath gradient;
  std::vector<bool> reaching; ///< nodes from which the loss's gradient flows
  std::vector<bool> trainUsed, freezeUsed;
  /// One-element initializers that might have been parameters.
  std::vector<std::string> takenForConstants;

  bool gradientReaches(const std::string &name) const {
    auto found = graph.users.find(name);
    if (found == graph.users.end()) {
      return false;
    }
    for (int n : found->second) {
      if (reaching[n] && absl::c_linear_search(gradient.reads(n), name)) {
        return true;
      }
    }
    return false;
  }

  /// One element is what exporters' constants have; it is a parameter only
  /// where it still has a parameter's name, "head.scale", and not a node's,
  /// "/head/Constant_1" or "onnx::Mul_7".
  bool looksLikeConstant(const onnx::TensorProto &tensor) const {
    int64_t count = 1;
    for (int64_t dim : tensor.dims()) {
      count *= std::clamp<int64_t>(dim, 0, 2);
    }
    const std::string &name = tensor.name();
    return count <= 1 &&
           (!absl::StrContains(name, '.') || absl::StrContains(name, '/') ||
            absl::StrContains(name, ':'));
  }

  /// Whether a batch normalization makes new running statistics of it.
  bool isRunningStatistic(const std::string &name) const {
    bool moved = false;
    uses.each(name, [&](const onnx::NodeProto &node, int i) {
      int output = i - 2;
      moved |= node.op_type() == "BatchNormalization" && output >= 1 &&
               node.output_size() > output && !node.output(output).empty();
    });
    return moved;
  }

  /// True and a reason, or false and a reason; nothing: a constant.
  std::optional<std::pair<bool, std::string>>
  decide(const onnx::TensorProto &tensor) {
    const std::string &name = tensor.name();
    bool reached = gradientReaches(name);
    const std::string *frozen = match(options.freeze, name, freezeUsed);
    const std::string *named = match(options.train, name, trainUsed);
    auto kind = signature.kinds.find(name);
    bool parameter =
        kind != signature.kinds.end() && kind->second == "PARAMETER";
    bool constant = !signature.present && looksLikeConstant(tensor);
    if (isRunningStatistic(tensor.name())) {
      if (named != nullptr && *named == name) {
        fail("--train names '", name,
             "': running statistics are not trained, "
             "every micro-batch makes new ones");
      }
      return std::pair(false, "running statistics of a batch normalization");
    }
    if (options.replaced.count(name) != 0) {
      return std::pair(false, "it gets other values");
    }
    if (frozen != nullptr) {
      return std::pair(false, absl::StrCat("--freeze ", *frozen));
    }
    if (named != nullptr) {
      if (!reached) {
        fail("--train names '", name, "', but the loss does not depend on it");
      }
      return std::pair(true, absl::StrCat("--train ", *named));
    }
    if (!options.train.empty()) {
      if (parameter || (!signature.present && !constant && reached)) {
        return std::pair(false, "--train does not name it");
      }
      return std::nullopt;
    }
    if (parameter) {
      return reached ? std::pair(true, "the exporter lists it as a "
                                       "parameter")
                     : std::pair(false, "the loss does not depend on "
                                        "it");
    }
    if (signature.present || constant) {
      if (!signature.present && reached) {
        takenForConstants.push_back(name);
      }
      return std::nullopt;
    }
    if (isBufferName(name)) {
      return std::pair(false, "its name is that of a buffer");
    }
    if (reached) {
      return std::pair(true, "the loss's gradient reaches it");
    }
    return std::nullopt;
  }
};

} // namespace

std::vector<Parameter> decideParameters(const ModelFile &file,
                                        const Graph &graph,
                                        const std::string &loss,
                                        const ImportOptions &options,
                                        ImportReport &report) {
  ExporterSignature signature = readSignature(graph);
  if (!loss.empty()) {
    checkDamage(signature, options, report);
  }
  Uses uses(graph);
  GradientPath gradient(graph, file.opset);
  Decider decider{file,
                  graph,
                  options,
                  signature,
                  uses,
                  gradient,
                  loss.empty()
                      ? std::vector<bool>(graph.proto.node_size(), false)
                      : gradient.nodesReaching(loss),
                  std::vector<bool>(options.train.size()),
                  std::vector<bool>(options.freeze.size()),
                  {}};
  std::vector<Parameter> parameters;
  for (const auto &tensor : graph.proto.initializer()) {
    if (typeBytes(tensor.data_type()) == 0) {
      continue; // reported where a node reads it
    }
    Parameter parameter;
    parameter.tensor = &tensor;
    std::optional<std::pair<bool, std::string>> decision;
    if (isFloatType(tensor.data_type())) {
      decision = decider.decide(tensor);
    }
    if (!decision) {
      // A large table is an argument even though it is never trained.
      Shape shape(tensor.dims().begin(), tensor.dims().end());
      bool large = elementCount(shape) * typeBytes(tensor.data_type()) >
                   mlir::zg::nn::kMaxConstantBytes;
      if (!large && isReadable(file, tensor)) {
        continue;
      }
      decision = std::pair(false, large ? "a constant above 64 KiB"
                                        : "a constant whose file is "
                                          "not there");
    }
    std::tie(parameter.trainable, parameter.reason) = *decision;
    parameter.module = moduleOf(tensor, uses);
    parameter.init = initOf(tensor, uses);
    parameters.push_back(parameter);
  }
  if (!decider.takenForConstants.empty()) {
    report.notes.push_back(absl::StrCat(
        "taken for constants, as they have one element and no parameter's "
        "name: ",
        absl::StrJoin(decider.takenForConstants, ", "),
        ". To train one, name it and all other parameters by --train"));
  }
  std::vector<std::string> names, problems;
  for (const auto &tensor : graph.proto.initializer()) {
    if (isFloatType(tensor.data_type())) {
      names.push_back(tensor.name());
    }
  }
  addUnused("--train", options.train, decider.trainUsed, names, problems);
  addUnused("--freeze", options.freeze, decider.freezeUsed, names, problems);
  if (!problems.empty()) {
    fail(absl::StrJoin(problems, "\n  "));
  }
  return parameters;
}

} // namespace zerograph::frontend
