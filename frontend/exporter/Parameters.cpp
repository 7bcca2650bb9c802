//===- Parameters.cpp - which initializers are trained, and why -----------===//

#include "frontend/exporter/Parameters.h"

#include "frontend/base/Error.h"
#include "frontend/exporter/Damage.h"
#include "frontend/exporter/ParameterUses.h"
#include "frontend/exporter/Patterns.h"
#include "frontend/graph/GradientPath.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <optional>

namespace zerograph::frontend {

namespace {

/// Names that frameworks give to state that is not trained.
bool isBufferName(const std::string &name) {
  static const std::set<std::string> known = {
      "running_mean", "running_var",  "num_batches_tracked", "inv_freq",
      "masked_bias",  "position_ids", "token_type_ids",      "causal_mask"};
  std::string last = name.substr(name.find_last_of('.') + 1);
  return known.count(last) != 0 ||
         absl::StrContains(absl::AsciiStrToLower(last), "mask");
}

/// Whether PyTorch's own modules give a parameter this name: "fc.weight",
/// "rnn.bias_hh_l0", "attn.in_proj_weight".
bool isParameterName(const std::string &name) {
  std::string last = name.substr(name.find_last_of('.') + 1);
  for (const char *word : {"weight", "bias"}) {
    if (absl::StartsWith(last, word) || absl::EndsWith(last, word)) {
      return true;
    }
  }
  return false;
}

/// Whether the initializer is one number with a name such as nodes have,
/// "/head/Constant_1" or "onnx::Mul_7", and not a parameter's, "head.scale":
/// then an exporter made it of a constant.
bool looksLikeConstant(const onnx::TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims()) {
    count *= std::clamp<int64_t>(dim, 0, 2);
  }
  const std::string &name = tensor.name();
  return count <= 1 &&
         (!absl::StrContains(name, '.') || absl::StrContains(name, '/') ||
          absl::StrContains(name, ':'));
}

struct Decision {
  bool trainable;
  std::string reason;
};

class Decider {
public:
  Decider(const ModelFile &file, const Graph &graph, const std::string &loss,
          const ImportOptions &options, const ExporterSignature &signature)
      : file(file), graph(graph), options(options), signature(signature),
        uses(graph), gradient(graph, file.opset),
        reaching(loss.empty() ? std::vector<bool>(graph.proto.node_size())
                              : gradient.nodesReaching(loss)),
        train("--train", options.train), freeze("--freeze", options.freeze) {}

  std::vector<Parameter> run(ImportReport &report) {
    std::vector<Parameter> parameters;
    for (const auto &tensor : graph.proto.initializer()) {
      if (typeBytes(tensor.data_type()) == 0) {
        continue; // reported where a node reads it
      }
      if (std::optional<Decision> decision = decide(tensor)) {
        parameters.push_back({&tensor, decision->trainable, decision->reason,
                              uses.moduleOf(tensor.name()),
                              uses.initOf(tensor)});
      }
    }
    if (!takenForConstants.empty()) {
      report.notes.push_back(absl::StrCat(
          "taken for constants, as they have one element and no parameter's "
          "name: ",
          absl::StrJoin(takenForConstants, ", "),
          ". To train one, name it and all other parameters by --train"));
    }
    noteUnlikely(report);
    checkPatterns();
    return parameters;
  }

private:
  /// Nothing: the initializer is a constant.
  std::optional<Decision> decide(const onnx::TensorProto &tensor) {
    std::optional<Decision> decision;
    if (isFloatType(tensor.data_type())) {
      decision = decideFloat(tensor);
    }
    if (decision) {
      return decision;
    }
    // A large table is an argument even though it is never trained.
    Shape shape(tensor.dims().begin(), tensor.dims().end());
    if (elementCount(shape) * typeBytes(tensor.data_type()) >
        mlir::zg::nn::kMaxConstantBytes) {
      return Decision{false, "a constant above 64 KiB"};
    }
    if (!isReadable(file, tensor)) {
      return Decision{false, "a constant whose file is not there"};
    }
    return std::nullopt;
  }

  std::optional<Decision> decideFloat(const onnx::TensorProto &tensor) {
    const std::string &name = tensor.name();
    const std::string *frozen = freeze.match(name), *named = train.match(name);
    if (isRunningStatistic(name)) {
      if (named != nullptr && *named == name) {
        fail("--train names '", name,
             "': running statistics are not trained, "
             "every micro-batch makes new ones");
      }
      return Decision{false, "running statistics of a batch normalization"};
    }
    if (options.replaced.count(name) != 0) {
      return Decision{false, "it gets other values"};
    }
    if (frozen != nullptr) {
      return Decision{false, absl::StrCat("--freeze ", *frozen)};
    }
    if (named != nullptr) {
      if (!isReached(name)) {
        fail("--train names '", name, "', but the loss does not depend on it");
      }
      return Decision{true, absl::StrCat("--train ", *named)};
    }
    return options.train.empty() ? decideByFile(tensor) : decideUnnamed(tensor);
  }

  /// Of an initializer that --train, though it is given, does not name.
  std::optional<Decision> decideUnnamed(const onnx::TensorProto &tensor) const {
    if (isListed(tensor.name()) ||
        (!signature.present && !looksLikeConstant(tensor) &&
         isReached(tensor.name()))) {
      return Decision{false, "--train does not name it"};
    }
    return std::nullopt;
  }

  /// Of an initializer that the user says nothing of.
  std::optional<Decision> decideByFile(const onnx::TensorProto &tensor) {
    const std::string &name = tensor.name();
    bool reached = isReached(name);
    if (isListed(name)) {
      return reached ? Decision{true, "the exporter lists it as a parameter"}
                     : Decision{false, "the loss does not depend on it"};
    }
    if (signature.present) {
      return std::nullopt;
    }
    if (looksLikeConstant(tensor)) {
      if (reached) {
        takenForConstants.push_back(name);
      }
      return std::nullopt;
    }
    if (isBufferName(name)) {
      return Decision{false, "its name is that of a buffer"};
    }
    if (reached) {
      if (isOfTorchScript(file.model) && !isParameterName(name)) {
        unlikely.push_back(name);
      }
      return Decision{true, "the loss's gradient reaches it"};
    }
    return std::nullopt;
  }

  /// The TorchScript exporter does not tell buffers from parameters.
  void noteUnlikely(ImportReport &report) {
    if (unlikely.empty()) {
      return;
    }
    constexpr size_t kMost = 8;
    size_t count = unlikely.size();
    unlikely.resize(std::min(count, kMost));
    report.notes.push_back(absl::StrCat(
        "trained, though they may be buffers, which this exporter does "
        "not tell from parameters: ",
        absl::StrJoin(unlikely, ", "),
        count > kMost ? absl::StrCat(" and ", count - kMost, " more") : "",
        ". --freeze NAME keeps one as it is"));
  }

  /// Whether the exporter lists it as a parameter.
  bool isListed(const std::string &name) const {
    auto kind = signature.kinds.find(name);
    return kind != signature.kinds.end() && kind->second == "PARAMETER";
  }

  /// Whether the loss's gradient reaches it.
  bool isReached(const std::string &name) const {
    auto found = graph.users.find(name);
    return found != graph.users.end() &&
           absl::c_any_of(found->second, [&](int n) {
             return reaching[n] &&
                    absl::c_linear_search(gradient.reads(n), name);
           });
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

  void checkPatterns() const {
    std::vector<std::string> names, problems;
    for (const auto &tensor : graph.proto.initializer()) {
      if (isFloatType(tensor.data_type())) {
        names.push_back(tensor.name());
      }
    }
    train.addUnused(names, problems);
    freeze.addUnused(names, problems);
    if (!problems.empty()) {
      fail(absl::StrJoin(problems, "\n  "));
    }
  }

  const ModelFile &file;
  const Graph &graph;
  const ImportOptions &options;
  const ExporterSignature &signature;
  ParameterUses uses;
  GradientPath gradient;
  std::vector<bool> reaching; ///< nodes that the loss's gradient flows through
  Patterns train, freeze;
  /// One-element initializers that might have been parameters.
  std::vector<std::string> takenForConstants;
  /// Trained, but not named as parameters of PyTorch's modules are.
  std::vector<std::string> unlikely;
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
  return Decider(file, graph, loss, options, signature).run(report);
}

} // namespace zerograph::frontend
