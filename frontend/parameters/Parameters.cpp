//===- Parameters.cpp - which initializers are trained, and why -----------===//

#include "frontend/parameters/Parameters.h"

#include "frontend/base/Error.h"
#include "frontend/base/Suggest.h"
#include "frontend/file/TensorBytes.h"
#include "frontend/graph/GradientPath.h"
#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/parameters/ParameterUses.h"
#include "frontend/parameters/UnlistedConstants.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "options/Globs.h"
#include "runtime/base/Text.h"

#include <optional>

namespace zerograph::frontend {

namespace {

std::string lastPart(const std::string &name) {
  return name.substr(name.find_last_of('.') + 1);
}

/// Returns whether the name is one of a mask, "attn.mask" or "causal_masks",
/// which a parameter may be called too. A "mask_token" is one.
bool isMaskName(const std::string &name) {
  std::string last = absl::AsciiStrToLower(lastPart(name));
  return absl::EndsWith(last, "mask") || absl::EndsWith(last, "masks");
}

/// Returns whether frameworks give this name to state that is not trained.
bool isBufferName(const std::string &name) {
  static const std::set<std::string> known = {
      "running_mean",      "running_var",  "num_batches_tracked", "inv_freq",
      "original_inv_freq", "cos_cached",   "sin_cached",          "masked_bias",
      "final_logits_bias", "position_ids", "token_type_ids"};
  return known.count(lastPart(name)) != 0 || isMaskName(name);
}

/// The glob patterns that the user gave to one option.
class Patterns {
public:
  /// `of`: what they are patterns of, for messages.
  Patterns(const char *option, std::vector<std::string> patterns,
           const char *of = "float initializer")
      : option(option), of(of), patterns(std::move(patterns)),
        used(this->patterns.size()), first(this->patterns.size()) {}

  /// The first pattern that matches `name`, or null. Remembers all that do, and
  /// which were the first.
  const std::string *match(const std::string &name);
  /// Adds a line for each pattern that has matched nothing; `names` are those
  /// that it could have matched.
  void addUnused(const std::vector<std::string> &names,
                 std::vector<std::string> &problems) const;
  /// Adds a line for each pattern whose names all match one before it.
  void addLate(std::vector<std::string> &problems) const;

private:
  const char *option, *of;
  std::vector<std::string> patterns;
  std::vector<bool> used, first;
};

const std::string *Patterns::match(const std::string &name) {
  const std::string *found = nullptr;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (options::matches(patterns[i], name)) {
      used[i] = true;
      if (found == nullptr) {
        found = &patterns[i];
        first[i] = true;
      }
    }
  }
  return found;
}

void Patterns::addLate(std::vector<std::string> &problems) const {
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (used[i] && !first[i]) {
      problems.push_back(absl::StrCat(
          option, " ", patterns[i], ": each ", of,
          " with a name that matches is matched by an earlier ", option,
          ", which counts: leave one out, or give it after this one"));
    }
  }
}

void Patterns::addUnused(const std::vector<std::string> &names,
                         std::vector<std::string> &problems) const {
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!used[i]) {
      problems.push_back(absl::StrCat(option, " ", patterns[i], ": no ", of,
                                      " has a name that matches",
                                      suggestFor(patterns[i], names)));
    }
  }
}

constexpr char kAdaptersAlone[] = "--lora trains adapters alone";

struct Decision {
  bool trainable;
  std::string reason;
  const AdapterWish *adapter = nullptr;
};

std::vector<std::string> patternsOf(const std::vector<AdapterWish> &wishes) {
  std::vector<std::string> patterns;
  for (const AdapterWish &wish : wishes) {
    patterns.push_back(wish.pattern);
  }
  return patterns;
}

class Decider {
public:
  Decider(const ModelFile &file, const Graph &graph, const std::string &loss,
          const ImportOptions &options)
      : file(file), graph(graph), options(options),
        signature(readSignature(graph)), uses(graph),
        constants(file, graph, uses), gradient(graph, file.opset),
        reaching(loss.empty() ? std::vector<bool>(graph.proto.node_size())
                              : gradient.nodesReaching(loss)),
        train("--train", options.train), freeze("--freeze", options.freeze),
        lora("--lora", patternsOf(options.adapters),
             "parameter of two dimensions above 1") {}

  std::vector<Parameter> run(ImportReport &report) {
    std::vector<Parameter> parameters;
    for (const auto &tensor : graph.proto.initializer()) {
      if (typeBytes(tensor.data_type()) == 0) {
        continue; // reported where a node reads it
      }
      std::optional<Decision> decision = decide(tensor);
      // An empty one has nothing to train.
      if (decision && elementCount(shapeOf(tensor)) != 0) {
        parameters.push_back({&tensor, decision->trainable, decision->reason,
                              uses.moduleOf(tensor.name()), uses.initOf(tensor),
                              decision->adapter});
      }
    }
    noteTaken(takenForConstants,
              "constants, as they have one element and no parameter's name",
              report);
    noteTaken(masks, "buffers, as they are called masks", report);
    noteTaken(otherConstants, constants.reason(), report);
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
    if (!isReadable(file, tensor)) {
      return Decision{false, kUnreadableConstant};
    }
    // A large table is an argument even though it is never trained.
    if (elementCount(shapeOf(tensor)) * typeBytes(tensor.data_type()) >
        mlir::zg::nn::kMaxConstantBytes) {
      return Decision{false, "a constant above 64 KiB"};
    }
    return std::nullopt;
  }

  std::optional<Decision> decideFloat(const onnx::TensorProto &tensor) {
    const std::string &name = tensor.name();
    const std::string *frozen = freeze.match(name), *named = train.match(name);
    const AdapterWish *wish = wishFor(tensor);
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
    if (wish != nullptr && named != nullptr && frozen == nullptr) {
      fail("--train ", *named, " and --lora ", wish->rank, ":", wish->pattern,
           " both name '", name,
           "': train it whole, or adapters beside it (--freeze leaves it out "
           "of both)");
    }
    if (wish != nullptr && frozen == nullptr) {
      return Decision{false, kAdaptersAlone, wish};
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
    return options.train.empty() && options.adapters.empty()
               ? decideByFile(tensor)
               : decideUnnamed(tensor);
  }

  /// The first wish for adapters that matches.
  const AdapterWish *wishFor(const onnx::TensorProto &tensor) {
    if (options.adapters.empty() || longDims(tensor) < 2 ||
        !isUnnamedParameter(tensor) || !isReached(tensor.name())) {
      return nullptr;
    }
    adaptable.push_back(tensor.name());
    const std::string *pattern = lora.match(tensor.name());
    auto of = [&](const AdapterWish &wish) { return wish.pattern == *pattern; };
    return pattern == nullptr ? nullptr
                              : &*absl::c_find_if(options.adapters, of);
  }

  /// Returns whether it is a parameter where nothing names it.
  bool isUnnamedParameter(const onnx::TensorProto &tensor) const {
    return signature.lists(tensor.name(), "PARAMETER") ||
           (!signature.present && !constants.has(tensor) &&
            isReached(tensor.name()));
  }

  /// Decides on an initializer that --train, though it or --lora is given, does
  /// not name.
  std::optional<Decision> decideUnnamed(const onnx::TensorProto &tensor) const {
    if (isUnnamedParameter(tensor)) {
      return Decision{false, options.train.empty()
                                 ? kAdaptersAlone
                                 : "--train does not name it"};
    }
    return std::nullopt;
  }

  /// Decides on an initializer that the user says nothing of.
  std::optional<Decision> decideByFile(const onnx::TensorProto &tensor) {
    const std::string &name = tensor.name();
    bool reached = isReached(name);
    if (signature.lists(name, "PARAMETER")) {
      return reached ? Decision{true, "the exporter lists it as a parameter"}
                     : Decision{false, "the loss does not depend on it"};
    }
    if (signature.present) {
      return std::nullopt;
    }
    if (constants.has(tensor)) {
      if (reached && longDims(tensor) > 0) {
        otherConstants.push_back(name);
      } else if (reached && !constants.areSure(name)) {
        takenForConstants.push_back(name);
      }
      return std::nullopt;
    }
    if (isBufferName(name)) {
      if (reached && isMaskName(name)) {
        masks.push_back(name);
      }
      return Decision{false, "its name is that of a buffer"};
    }
    if (reached) {
      if (constants.mayHave(tensor)) {
        unlikely.push_back(name);
      }
      return Decision{true, "the loss's gradient reaches it"};
    }
    return std::nullopt;
  }

  static void noteTaken(const std::vector<std::string> &names, const char *as,
                        ImportReport &report) {
    if (!names.empty()) {
      report.notes.push_back(absl::StrCat(
          "taken for ", as, ": ", listOf(names, 8),
          ". To train one, name it and all other parameters by --train"));
    }
  }

  /// PyTorch's older exporter does not tell buffers from parameters, and
  /// tf2onnx does not tell constants from what it computed of variables.
  void noteUnlikely(ImportReport &report) {
    if (unlikely.empty()) {
      return;
    }
    report.notes.push_back(absl::StrCat(
        "trained, though they may be buffers or constants, which this "
        "exporter does not tell from parameters: ",
        listOf(unlikely, 8), ". --freeze NAME keeps one as it is"));
  }

  /// Returns whether the loss's gradient reaches it.
  bool isReached(const std::string &name) const {
    auto found = graph.users.find(name);
    return found != graph.users.end() &&
           absl::c_any_of(found->second, [&](int n) {
             return reaching[n] &&
                    absl::c_linear_search(gradient.reads(n), name);
           });
  }

  /// Returns whether a batch normalization makes new running statistics of it.
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
    lora.addUnused(adaptable, problems);
    lora.addLate(problems);
    if (!problems.empty()) {
      fail(linesOf(problems));
    }
  }

  const ModelFile &file;
  const Graph &graph;
  const ImportOptions &options;
  ExporterSignature signature;
  ParameterUses uses;
  UnlistedConstants constants;
  GradientPath gradient;
  std::vector<bool> reaching; ///< nodes that the loss's gradient flows through
  Patterns train, freeze, lora;
  std::vector<std::string> adaptable; ///< what --lora could name
  /// One-element initializers that might have been parameters.
  std::vector<std::string> takenForConstants;
  /// Initializers of several elements that are taken for constants.
  std::vector<std::string> otherConstants;
  /// Taken for buffers, as they are called masks.
  std::vector<std::string> masks;
  /// Trained, but not named as parameters of PyTorch's modules are.
  std::vector<std::string> unlikely;
};

} // namespace

std::vector<Parameter> decideParameters(const ModelFile &file,
                                        const Graph &graph,
                                        const std::string &loss,
                                        const ImportOptions &options,
                                        ImportReport &report) {
  return Decider(file, graph, loss, options).run(report);
}

} // namespace zerograph::frontend
