//===- Shape.cpp - elements under other shapes as ONNX operators ----------===//

#include "codegen/onnx/Forms.h"

#include <limits>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

void broadcastForm(BroadcastOp op, OnnxGraph &graph) {
  std::string small = graph.smallOf(op.getOperand());
  graph.setSmall(op.getResult(),
                 small.empty() ? graph.value(op.getOperand()) : small);
}

void reshapeForm(ReshapeOp op, OnnxGraph &graph) {
  graph.set(op.getResult(), graph.reshape(graph.value(op.getOperand()),
                                          op.getResult().getType().getShape()));
}

void transposeForm(TransposeOp op, OnnxGraph &graph) {
  graph.set(op.getResult(),
            graph.transpose(graph.value(op.getOperand()), op.getPermutation()));
}

/// The end of a slice that goes backwards to the first element: no index, since
/// -1 would be the last.
constexpr int64_t kBeforeFirst = std::numeric_limits<int64_t>::min();

void sliceForm(SliceOp op, OnnxGraph &graph) {
  ArrayRef<int64_t> shape = op.getResult().getType().getShape();
  SmallVector<int64_t> ends, axes;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t step = op.getSteps()[dim];
    int64_t last = op.getStarts()[dim] + (size - 1) * step;
    ends.push_back(step > 0 ? last + 1 : last == 0 ? kBeforeFirst : last - 1);
    axes.push_back(int64_t(dim));
  }
  graph.set(op.getResult(),
            graph.node("Slice", {graph.value(op.getOperand()),
                                 graph.ints(op.getStarts()), graph.ints(ends),
                                 graph.ints(axes), graph.ints(op.getSteps())}));
}

double valueOf(TypedAttr attr) {
  if (auto number = dyn_cast<FloatAttr>(attr)) {
    return number.getValueAsDouble();
  }
  auto number = cast<IntegerAttr>(attr);
  return number.getType().isInteger(1) || number.getType().isUnsignedInteger()
             ? double(number.getValue().getZExtValue())
             : double(number.getValue().getSExtValue());
}

void padForm(PadOp op, OnnxGraph &graph) {
  ArrayRef<int64_t> before = op.getOperand().getType().getShape(),
                    after = op.getResult().getType().getShape();
  SmallVector<int64_t> pads(op.getLow());
  for (auto [dim, low] : llvm::enumerate(op.getLow())) {
    pads.push_back(after[dim] - before[dim] - low);
  }
  Type element = op.getResult().getType().getElementType();
  graph.set(op.getResult(),
            graph.node("Pad",
                       {graph.value(op.getOperand()), graph.ints(pads),
                        graph.number(element, valueOf(op.getValue()))},
                       {attribute("mode", "constant")}));
}

void concatForm(ConcatOp op, OnnxGraph &graph) {
  SmallVector<std::string> in;
  for (Value operand : op.getOperands()) {
    in.push_back(graph.value(operand));
  }
  graph.set(
      op.getResult(),
      graph.node("Concat", in, {attribute("axis", int64_t(op.getDim()))}));
}

} // namespace

ArrayRef<OnnxForm> mlir::zg::shapeForms() {
  static const OnnxForm forms[] = {
      formOf<BroadcastOp, broadcastForm>(),
      formOf<ReshapeOp, reshapeForm>(),
      formOf<TransposeOp, transposeForm>(),
      formOf<SliceOp, sliceForm>(),
      formOf<PadOp, padForm>(),
      formOf<ConcatOp, concatForm>(),
  };
  return forms;
}
