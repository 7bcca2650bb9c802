//===- OnnxGraph.cpp - a graph of ONNX that grows node by node ------------===//

#include "codegen/onnx/OnnxGraph.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zg;
using onnx::TensorProto;

int32_t mlir::zg::onnxType(Type element) {
  if (element.isF64()) {
    return TensorProto::DOUBLE;
  }
  if (element.isF32()) {
    return TensorProto::FLOAT;
  }
  if (element.isF16()) {
    return TensorProto::FLOAT16;
  }
  if (element.isBF16()) {
    return TensorProto::BFLOAT16;
  }
  switch (element.getIntOrFloatBitWidth()) {
  case 1:
    return TensorProto::BOOL;
  case 8:
    return element.isUnsignedInteger() ? TensorProto::UINT8 : TensorProto::INT8;
  case 16:
    return TensorProto::INT16;
  case 32:
    return TensorProto::INT32;
  default:
    return TensorProto::INT64;
  }
}

/// Little-endian bytes of one element.
static void append(std::string &bytes, const llvm::APInt &bits) {
  unsigned size = (bits.getBitWidth() + 7) / 8;
  uint64_t word = bits.getZExtValue();
  for (unsigned i = 0; i < size; ++i) {
    bytes.push_back(char(word >> (8 * i) & 0xff));
  }
}

static llvm::APInt bitsOf(Type element, double value) {
  if (auto type = dyn_cast<FloatType>(element)) {
    llvm::APFloat number(value);
    bool lost;
    number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                   &lost);
    return number.bitcastToAPInt();
  }
  return llvm::APInt(element.getIntOrFloatBitWidth(), uint64_t(int64_t(value)),
                     /*isSigned=*/true);
}

onnx::AttributeProto mlir::zg::attribute(StringRef name, int64_t value) {
  onnx::AttributeProto proto;
  proto.set_name(name.str());
  proto.set_type(onnx::AttributeProto::INT);
  proto.set_i(value);
  return proto;
}

onnx::AttributeProto mlir::zg::attribute(StringRef name,
                                         ArrayRef<int64_t> values) {
  onnx::AttributeProto proto;
  proto.set_name(name.str());
  proto.set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values) {
    proto.add_ints(value);
  }
  return proto;
}

onnx::AttributeProto mlir::zg::attribute(StringRef name, StringRef value) {
  onnx::AttributeProto proto;
  proto.set_name(name.str());
  proto.set_type(onnx::AttributeProto::STRING);
  proto.set_s(value.str());
  return proto;
}

std::string OnnxGraph::fresh(StringRef base) {
  std::string name = base.str();
  while (!reserve(name)) {
    name = (base + "_" + Twine(++taken[base.str()])).str();
  }
  return name;
}

void OnnxGraph::begin(Operation *op) {
  label = nn::nameOf(op->getLoc());
  if (label.empty()) { // no name is an operand that is left out
    label = op->getName().stripDialect();
  }
}

std::string OnnxGraph::value(Value value) {
  std::string &name = names[value];
  if (!name.empty()) {
    return name;
  }
  auto type = cast<RankedTensorType>(value.getType());
  name = node("Expand", {smallOf(value), ints(type.getShape())});
  return name;
}

SmallVector<std::string> OnnxGraph::elementwise(ValueRange operands) {
  bool anyWhole = llvm::any_of(
      operands, [&](Value operand) { return smallOf(operand).empty(); });
  SmallVector<std::string> result;
  for (Value operand : operands) {
    std::string little = anyWhole ? smallOf(operand) : "";
    result.push_back(little.empty() ? value(operand) : little);
    anyWhole = true; // one of them is by now
  }
  return result;
}

std::string OnnxGraph::node(StringRef type, ArrayRef<std::string> inputs,
                            ArrayRef<onnx::AttributeProto> attributes) {
  std::string name = fresh(label);
  onnx::NodeProto &proto = *graph.add_node();
  proto.set_name(name);
  proto.set_op_type(type.str());
  for (const std::string &input : inputs) {
    proto.add_input(input);
  }
  proto.add_output(name);
  for (const onnx::AttributeProto &each : attributes) {
    *proto.add_attribute() = each;
  }
  return name;
}

std::string OnnxGraph::convert(const std::string &name, Type element) {
  return node("Cast", {name}, {attribute("to", onnxType(element))});
}

std::string OnnxGraph::reshape(const std::string &name,
                               ArrayRef<int64_t> shape) {
  return node("Reshape", {name, ints(shape)});
}

std::string OnnxGraph::transpose(const std::string &name,
                                 ArrayRef<int64_t> permutation) {
  return node("Transpose", {name}, {attribute("perm", permutation)});
}

std::string OnnxGraph::head(const std::string &name, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> zeros(sizes.size(), 0);
  return node("Slice", {name, ints(zeros), ints(sizes)});
}

std::string OnnxGraph::initializer(int32_t type, ArrayRef<int64_t> shape,
                                   std::string bytes) {
  std::string key = llvm::itostr(type) + ":";
  for (int64_t size : shape) {
    key += llvm::itostr(size) + ",";
  }
  std::string &name = constants[key + ":" + bytes];
  if (name.empty()) {
    name = fresh("constant");
    TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (int64_t size : shape) {
      tensor.add_dims(size);
    }
    tensor.set_raw_data(std::move(bytes));
  }
  return name;
}

std::string OnnxGraph::ints(ArrayRef<int64_t> values) {
  std::string bytes;
  for (int64_t value : values) {
    append(bytes, llvm::APInt(64, uint64_t(value)));
  }
  return initializer(TensorProto::INT64, {int64_t(values.size())},
                     std::move(bytes));
}

std::string OnnxGraph::number(Type element, double value) {
  std::string bytes;
  append(bytes, bitsOf(element, value));
  return initializer(onnxType(element), {}, std::move(bytes));
}

std::string OnnxGraph::constant(ElementsAttr value) {
  auto dense = cast<DenseElementsAttr>(value);
  Type element = dense.getElementType();
  std::string bytes;
  auto add = [&](auto number) {
    if constexpr (std::is_same_v<decltype(number), llvm::APFloat>) {
      append(bytes, number.bitcastToAPInt());
    } else {
      append(bytes, number);
    }
  };
  auto addAll = [&](auto values) {
    if (dense.isSplat()) {
      add(*values.begin());
      return;
    }
    for (auto number : values) {
      add(number);
    }
  };
  if (isa<FloatType>(element)) {
    addAll(dense.getValues<llvm::APFloat>());
  } else {
    addAll(dense.getValues<llvm::APInt>());
  }
  ArrayRef<int64_t> shape = dense.getType().getShape();
  return initializer(onnxType(element),
                     dense.isSplat() ? ArrayRef<int64_t>() : shape,
                     std::move(bytes));
}
