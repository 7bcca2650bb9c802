//===- Reduce.cpp - reductions as ONNX operators --------------------------===//

#include "codegen/onnx/Forms.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

StringRef reduceOperator(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum:
    return "ReduceSum";
  case ReduceKind::max:
    return "ReduceMax";
  case ReduceKind::min:
    return "ReduceMin";
  case ReduceKind::prod:
    return "ReduceProd";
  }
  llvm_unreachable("a kind without an operator");
}

/// Returns the type that runtimes reduce: an i1 or an integer of few bits
/// becomes an int32.
Type computedType(Type element) {
  bool narrow =
      isa<IntegerType>(element) && element.getIntOrFloatBitWidth() < 32;
  return narrow ? IntegerType::get(element.getContext(), 32) : element;
}

void reduceForm(ReduceOp op, OnnxGraph &graph) {
  std::string x = graph.value(op.getOperand());
  Type element = op.getResult().getType().getElementType();
  Type computed = computedType(element);
  if (op.getDims().empty()) {
    return graph.set(op.getResult(), graph.node("Identity", {x}));
  }
  if (computed != element) {
    x = graph.convert(x, computed);
  }
  std::string y =
      graph.node(reduceOperator(op.getKind()), {x, graph.ints(op.getDims())},
                 {attribute("keepdims", int64_t(1))});
  graph.set(op.getResult(),
            computed != element ? graph.convert(y, element) : y);
}

void cumsumForm(CumsumOp op, OnnxGraph &graph) {
  std::string x = graph.value(op.getOperand());
  Type element = op.getResult().getType().getElementType();
  Type computed = computedType(element);
  if (computed != element) {
    x = graph.convert(x, computed);
  }
  Type i64 = Builder(op.getContext()).getI64Type();
  std::string y =
      graph.node("CumSum", {x, graph.number(i64, double(op.getDim()))},
                 {attribute("exclusive", int64_t(op.getExclusive())),
                  attribute("reverse", int64_t(op.getReverse()))});
  graph.set(op.getResult(),
            computed != element ? graph.convert(y, element) : y);
}

} // namespace

ArrayRef<OnnxForm> mlir::zg::reduceForms() {
  static const OnnxForm forms[] = {formOf<ReduceOp, reduceForm>(),
                                   formOf<CumsumOp, cumsumForm>()};
  return forms;
}
