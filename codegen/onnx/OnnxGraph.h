//===- OnnxGraph.h - a graph of ONNX that grows node by node --------------===//

#ifndef ZEROGRAPH_CODEGEN_ONNX_ONNXGRAPH_H
#define ZEROGRAPH_CODEGEN_ONNX_ONNXGRAPH_H

#include "passes/ir/nn/NNDialect.h"

#include "onnx/onnx_pb.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <string>

namespace mlir::zg {

/// The operator set and the format that are written: the first that have all
/// that the forms use, since many runtimes know them.
inline constexpr int64_t kOnnxOpset = 18, kOnnxIrVersion = 8;

/// onnx::TensorProto::DataType of an element type of nn.
int32_t onnxType(Type element);

/// Writes nodes for the ops of a program, one op after the other. A value of
/// the program is a name of the graph. Names follow from those of the ops'
/// locations and from their order.
class OnnxGraph {
public:
  explicit OnnxGraph(onnx::GraphProto &graph) : graph(graph) {}

  /// Keeps a name for what has it already; false if it is taken.
  bool reserve(StringRef name) { return taken.emplace(name.str(), 0).second; }

  /// Says that what follows is the form of this op.
  void begin(Operation *op);

  /// The name of a value, all of whose elements are there.
  std::string value(Value value);
  /// The names of operands of an elementwise operator, which broadcasts: a
  /// splat or broadcast operand is left small where another one has the shape
  /// of the result.
  SmallVector<std::string> elementwise(ValueRange operands);
  void set(Value value, std::string name) { names[value] = std::move(name); }
  /// A value whose elements repeat those of `name`, of the same rank or of
  /// none.
  void setSmall(Value value, std::string name) {
    small[value] = std::move(name);
  }
  /// The name of the small tensor of setSmall; empty: there is none.
  std::string smallOf(Value value) const { return small.lookup(value); }

  /// Adds a node with one result, and gives that one's name.
  std::string node(StringRef type, ArrayRef<std::string> inputs,
                   ArrayRef<onnx::AttributeProto> attributes = {});

  std::string convert(const std::string &name, Type element);
  std::string reshape(const std::string &name, ArrayRef<int64_t> shape);
  std::string transpose(const std::string &name, ArrayRef<int64_t> permutation);
  /// Elements [0, sizes) of each dimension.
  std::string head(const std::string &name, ArrayRef<int64_t> sizes);

  /// Constants. Equal ones are one initializer.
  std::string ints(ArrayRef<int64_t> values);
  std::string number(Type element, double value);
  std::string constant(ElementsAttr value);

private:
  std::string fresh(StringRef base);
  std::string initializer(int32_t type, ArrayRef<int64_t> shape,
                          std::string bytes);

  onnx::GraphProto &graph;
  std::string label; ///< names the op whose form is written
  llvm::DenseMap<Value, std::string> names, small;
  std::map<std::string, int64_t> taken;
  /// type, shape and bytes -> name
  std::map<std::string, std::string> constants;
};

onnx::AttributeProto attribute(StringRef name, int64_t value);
onnx::AttributeProto attribute(StringRef name, ArrayRef<int64_t> values);
onnx::AttributeProto attribute(StringRef name, StringRef value);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_ONNX_ONNXGRAPH_H
