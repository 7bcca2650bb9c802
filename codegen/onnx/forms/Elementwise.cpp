//===- Elementwise.cpp - elementwise functions as ONNX operators ----------===//
//
// ONNX allows most operators on integers of 8 and 16 bits, and runtimes have
// few of them: such elements are computed with as int32, and cast back.
//
//===----------------------------------------------------------------------===//

#include "codegen/onnx/Forms.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

/// An integer of 8 or 16 bits.
bool isShort(Type element) {
  return isa<IntegerType>(element) && element.getIntOrFloatBitWidth() > 1 &&
         element.getIntOrFloatBitWidth() < 32;
}

void constantForm(ConstantOp op, OnnxGraph &graph) {
  std::string name = graph.constant(op.getValue());
  bool whole = !cast<DenseElementsAttr>(op.getValue()).isSplat() ||
               op.getResult().getType().getRank() == 0;
  whole ? graph.set(op.getResult(), name)
        : graph.setSmall(op.getResult(), name);
}

void iotaForm(IotaOp op, OnnxGraph &graph) {
  auto type = op.getResult().getType();
  Builder b(op.getContext());
  Type i64 = b.getI64Type(), element = type.getElementType();
  int64_t size = type.getDimSize(op.getDim());
  std::string range =
      graph.node("Range", {graph.number(i64, 0), graph.number(i64, size),
                           graph.number(i64, 1)});
  if (element != i64) {
    range = graph.convert(range, element);
  }
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[op.getDim()] = size;
  if (shape.size() != 1) {
    range = graph.reshape(range, shape);
  }
  ArrayRef<int64_t>(shape) == type.getShape()
      ? graph.set(op.getResult(), range)
      : graph.setSmall(op.getResult(), range);
}

/// Returns the ONNX operator of a function. ONNX has most by the same name.
std::string operatorOf(StringRef function) {
  function.consume_front("logical_");
  return llvm::StringSwitch<std::string>(function)
      .Case("is_nan", "IsNaN")
      .Case("is_inf", "IsInf")
      .Case("rem", "Mod")
      .Default(llvm::toUpper(function[0]) + function.drop_front().str());
}

/// log(1 + x), which ONNX has not. 1 + x is rounded to u; what was lost is made
/// good by the factor x / (u - 1). Where u is 1, it is x; where u - 1 is x,
/// nothing was lost, also where both are infinite. (It is no addition of 1: who
/// imports the file may mend the logarithm of that in its own way, twice then.)
std::string log1p(const std::string &x, Type element, OnnxGraph &graph) {
  std::string one = graph.number(element, 1);
  std::string u = graph.node("Sub", {x, graph.number(element, -1)});
  std::string d = graph.node("Sub", {u, one});
  std::string log = graph.node("Log", {u});
  std::string factor = graph.node("Div", {x, d});
  std::string mended = graph.node("Where", {graph.node("Equal", {d, x}), log,
                                            graph.node("Mul", {log, factor})});
  return graph.node("Where", {graph.node("Equal", {u, one}), x, mended});
}

/// exp(x) - 1, which ONNX has not: for small x, 2 t / (1 - t) with
/// t = tanh(x / 2).
std::string expm1(const std::string &x, Type element, OnnxGraph &graph) {
  std::string one = graph.number(element, 1), half = graph.number(element, 0.5);
  std::string t = graph.node("Tanh", {graph.node("Mul", {x, half})});
  std::string near = graph.node(
      "Div", {graph.node("Add", {t, t}), graph.node("Sub", {one, t})});
  std::string far = graph.node("Sub", {graph.node("Exp", {x}), one});
  std::string small = graph.node("Less", {graph.node("Abs", {x}), half});
  return graph.node("Where", {small, near, far});
}

void unaryForm(UnaryOp op, OnnxGraph &graph) {
  std::string x = graph.value(op.getOperand());
  Type element = elementOf(op.getOperand());
  if (op.getKind() == UnaryKind::log1p) {
    return graph.set(op.getResult(), log1p(x, element, graph));
  }
  if (op.getKind() == UnaryKind::expm1) {
    return graph.set(op.getResult(), expm1(x, element, graph));
  }
  bool isTest = elementOf(op.getResult()) != element;
  bool narrow =
      isShort(element) || (isTest && !element.isF32() && !element.isF64());
  if (narrow) { // of tests: runtimes have them of f32 and f64
    Builder b(op.getContext());
    x = graph.convert(x, isTest ? Type(b.getF32Type()) : b.getI32Type());
  }
  std::string y = graph.node(operatorOf(stringifyUnaryKind(op.getKind())), {x});
  graph.set(op.getResult(), narrow && !isTest ? graph.convert(y, element) : y);
}

/// With the sign of the divisor, which ONNX has of integers alone.
std::string floatMod(ArrayRef<std::string> in, OnnxGraph &graph) {
  std::string whole = graph.node("Floor", {graph.node("Div", in)});
  return graph.node("Sub", {in[0], graph.node("Mul", {whole, in[1]})});
}

/// Binary cross entropy, as PyTorch's exporter writes it and the importer finds
/// it again.
std::string crossEntropy(ArrayRef<std::string> in, Type element,
                         OnnxGraph &graph) {
  std::string one = graph.number(element, 1);
  auto boundedLog = [&](const std::string &x) {
    return graph.node("Max",
                      {graph.node("Log", {x}), graph.number(element, -100)});
  };
  std::string other = graph.node("Add", {graph.node("Neg", {in[0]}), one});
  std::string no =
      graph.node("Mul", {graph.node("Sub", {in[1], one}), boundedLog(other)});
  std::string yes = graph.node("Mul", {in[1], boundedLog(in[0])});
  return graph.node("Sub", {no, yes});
}

void binaryForm(BinaryOp op, OnnxGraph &graph) {
  SmallVector<std::string> in = graph.elementwise(op->getOperands());
  Type element = elementOf(op.getResult());
  BinaryKind kind = op.getKind();
  if (kind == BinaryKind::mod && isa<FloatType>(element)) {
    return graph.set(op.getResult(), floatMod(in, graph));
  }
  if (kind == BinaryKind::cross_entropy) {
    return graph.set(op.getResult(), crossEntropy(in, element, graph));
  }
  if (isShort(element)) {
    for (std::string &each : in) {
      each = graph.convert(each, Builder(op.getContext()).getI32Type());
    }
  }
  SmallVector<onnx::AttributeProto, 1> attributes;
  if (kind == BinaryKind::rem) {
    attributes.push_back(attribute("fmod", int64_t(1)));
  }
  std::string y =
      graph.node(operatorOf(stringifyBinaryKind(kind)), in, attributes);
  graph.set(op.getResult(), isShort(element) ? graph.convert(y, element) : y);
}

StringRef compareOperator(CompareKind kind) {
  switch (kind) {
  case CompareKind::eq:
  case CompareKind::ne:
    return "Equal";
  case CompareKind::lt:
    return "Less";
  case CompareKind::le:
    return "LessOrEqual";
  case CompareKind::gt:
    return "Greater";
  case CompareKind::ge:
    return "GreaterOrEqual";
  }
  llvm_unreachable("a kind without an operator");
}

void compareForm(CompareOp op, OnnxGraph &graph) {
  SmallVector<std::string> in = graph.elementwise(op->getOperands());
  Type element = elementOf(op.getLhs());
  if (isShort(element) || element.isInteger(1)) {
    for (std::string &each : in) {
      each = graph.convert(each, Builder(op.getContext()).getI32Type());
    }
  }
  std::string y = graph.node(compareOperator(op.getKind()), in);
  graph.set(op.getResult(),
            op.getKind() == CompareKind::ne ? graph.node("Not", {y}) : y);
}

/// Selects from booleans: where the condition holds the first, else the second.
std::string selectBools(ArrayRef<std::string> in, OnnxGraph &graph) {
  std::string otherwise =
      graph.node("And", {graph.node("Not", {in[0]}), in[2]});
  return graph.node("Or", {graph.node("And", {in[0], in[1]}), otherwise});
}

void selectForm(SelectOp op, OnnxGraph &graph) {
  SmallVector<std::string> in = graph.elementwise(op->getOperands());
  Type element = elementOf(op.getResult());
  if (element.isInteger(1)) {
    return graph.set(op.getResult(), selectBools(in, graph));
  }
  if (isShort(element)) {
    for (std::string &each : MutableArrayRef(in).drop_front()) {
      each = graph.convert(each, Builder(op.getContext()).getI32Type());
    }
  }
  std::string y = graph.node("Where", in);
  graph.set(op.getResult(), isShort(element) ? graph.convert(y, element) : y);
}

void convertForm(ConvertOp op, OnnxGraph &graph) {
  std::string small = graph.smallOf(op.getOperand());
  Type element = elementOf(op.getResult());
  if (!small.empty()) {
    return graph.setSmall(op.getResult(), graph.convert(small, element));
  }
  graph.set(op.getResult(),
            graph.convert(graph.value(op.getOperand()), element));
}

} // namespace

ArrayRef<OnnxForm> mlir::zg::elementwiseForms() {
  static const OnnxForm forms[] = {
      formOf<ConstantOp, constantForm>(), formOf<IotaOp, iotaForm>(),
      formOf<UnaryOp, unaryForm>(),       formOf<BinaryOp, binaryForm>(),
      formOf<CompareOp, compareForm>(),   formOf<SelectOp, selectForm>(),
      formOf<ConvertOp, convertForm>(),
  };
  return forms;
}
