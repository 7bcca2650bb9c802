//===- TensorFlowWeights.cpp - what tf2onnx makes of variables ------------===//
//
// TensorFlow's optimizer and tf2onnx take variables for constants: they leave
// out what is added as 0 or multiplied as 1, join equal tensors, transpose, and
// fold the statistics of a batch normalization into its scale and offset.
//
//===----------------------------------------------------------------------===//

#include "frontend/file/TensorBytes.h"
#include "frontend/parameters/ParameterUses.h"
#include "frontend/parameters/TensorFlowNames.h"
#include "frontend/quirks/Quirks.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "runtime/base/Text.h"

using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

constexpr char kPage[] = "docs/exporting.md, \"Keras and TensorFlow\"";

class Finder {
public:
  explicit Finder(const TrainedModel &model)
      : model(model), uses(model.graph) {}

  std::vector<Finding> run() {
    for (const TensorProto &tensor : model.graph.proto.initializer()) {
      if (model.trained.count(tensor.name()) != 0) {
        visit(tensor);
      }
    }
    if (!untied.empty()) {
      findings.push_back(
          {absl::StrCat("there are transposed copies of weights, made when the "
                        "model was exported:\n  ",
                        linesOf(untied)),
           remedy(
               absl::StrCat("Training would untie them. zg.keras.export does "
                            "not (",
                            kPage, ")."),
               "each of the two is trained on its own")});
    }
    warn(joined, "tf2onnx joins equal tensors. If these, whose elements are "
                 "all equal, were parameters of several layers, they stay one");
    warn(folded, "batch normalizations were exported for inference, and these "
                 "hold their statistics. They are trained as they are, where "
                 "Keras takes the statistics of each batch: so does a file of "
                 "zg.keras.export with training=True");
    if (plain > 0) {
      findings.push_back({absl::StrCat(
          plain, " of ", products,
          " products have no bias. tf2onnx leaves out biases that are 0, as "
          "those of a model are that was not trained yet, and scales that are "
          "1: what it left out is not trained. zg.keras.export keeps all (",
          kPage, ")")});
    }
    return std::move(findings);
  }

private:
  void visit(const TensorProto &tensor) {
    const std::string &name = tensor.name();
    int readers = 0;
    uses.each(name, [&](const onnx::NodeProto &node, int input) {
      ++readers;
      count(node, input);
    });
    if (absl::EndsWith(name, "/batchnorm/mul:0") ||
        absl::EndsWith(name, "/batchnorm/sub:0") ||
        absl::EndsWith(name, "/merged_input:0")) {
      folded.push_back(name);
    } else if (readers > 1 && isOneValue(tensor)) {
      joined.push_back(name);
    }
    if (absl::StrContains(name, "/transpose") && tensor.dims_size() == 2 &&
        !isOneValue(tensor)) {
      findOriginal(tensor);
    }
  }

  /// Counts a product with a weight, and whether it has a bias.
  void count(const onnx::NodeProto &node, int input) {
    bool convolution =
        node.op_type() == "Conv" || node.op_type() == "ConvTranspose";
    if (input != 1 || node.output_size() == 0 ||
        (node.op_type() != "MatMul" && !convolution)) {
      return;
    }
    ++products;
    bool biased = convolution && node.input_size() > 2;
    plain += !biased && !isBiased(node.output(0));
  }

  /// Returns whether an initializer is added to the value, perhaps after it was
  /// rearranged up to `moves` times.
  bool isBiased(const std::string &value, int moves = 4) const {
    auto isInitializer = [&](const std::string &name) {
      return model.graph.initializers.count(name) != 0;
    };
    auto isBiasedBy = [&](int n) {
      const onnx::NodeProto &node = model.graph.proto.node(n);
      const std::string &op = node.op_type();
      if (op == "Add") {
        return absl::c_any_of(node.input(), isInitializer);
      }
      bool moved = op == "Reshape" || op == "Transpose" || op == "Squeeze";
      return moved && moves > 0 && node.output_size() == 1 &&
             isBiased(node.output(0), moves - 1);
    };
    auto readers = model.graph.users.find(value);
    return readers != model.graph.users.end() &&
           absl::c_any_of(readers->second, isBiasedBy);
  }

  bool isOneValue(const TensorProto &tensor) const {
    return elementCount(shapeOf(tensor)) > 1 &&
           isReadable(model.file, tensor) &&
           isSplat(readBytes(tensor, &model.file),
                   typeBytes(tensor.data_type()));
  }

  /// Finds the trained matrix that this one is the transpose of.
  void findOriginal(const TensorProto &copy) {
    for (const TensorProto &tensor : model.graph.proto.initializer()) {
      if (&tensor != &copy && model.trained.count(tensor.name()) != 0 &&
          isTransposeOf(copy, tensor)) {
        untied.push_back(
            absl::StrCat(copy.name(), " (of '", tensor.name(), "')"));
        return;
      }
    }
  }

  bool isTransposeOf(const TensorProto &copy, const TensorProto &from) const {
    Shape shape = shapeOf(copy);
    if (shapeOf(from) != Shape(shape.rbegin(), shape.rend()) ||
        copy.data_type() != from.data_type() || !isReadable(model.file, copy) ||
        !isReadable(model.file, from)) {
      return false;
    }
    return isTransposed(readBytes(copy, &model.file), shape,
                        readBytes(from, &model.file), shapeOf(from), {1, 0},
                        typeBytes(copy.data_type()));
  }

  void warn(const std::vector<std::string> &names, const char *what) {
    if (!names.empty()) {
      findings.push_back(
          {absl::StrCat(what, " (", kPage, "): ", listOf(names, 8))});
    }
  }

  const TrainedModel &model;
  ParameterUses uses;
  std::vector<Finding> findings;
  std::vector<std::string> untied, joined, folded;
  int products = 0, plain = 0;
};

std::vector<Finding> findWeights(const TrainedModel &model) {
  return isOfTensorFlow(model.graph.proto) ? Finder(model).run()
                                           : std::vector<Finding>();
}

} // namespace

const Quirk kTensorFlowWeights = {.find = findWeights};

} // namespace zerograph::frontend
