//===- ScanLoops.cpp - how running sums are computed ----------------------===//

#include "codegen/emit/loops/ScanLoops.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

LogicalResult ScanLoops::find(nn::KernelOp kernel) {
  auto yield = cast<nn::YieldOp>(kernel.getBody().front().getTerminator());
  if (yield->getNumOperands() == 1) {
    cumsum = yield.getOperand(0).getDefiningOp<nn::CumsumOp>();
  }
  if (!cumsum) {
    return kernel.emitError("'")
           << nn::nameOf(kernel.getLoc()) << "': a scan yields its nn.cumsum";
  }
  ArrayRef<int64_t> shape = cast<RankedTensorType>(cumsum.getType()).getShape();
  outer = ShapedType::getNumElements(shape.take_front(cumsum.getDim()));
  length = shape[cumsum.getDim()];
  inner = ShapedType::getNumElements(shape.drop_front(cumsum.getDim() + 1));
  graph.emplace(Domain{outer * length, inner}, /*reducesColumns=*/true);
  FailureOr<Node *> node = graph->add(cumsum.getOperand(), Extent::Full);
  if (failed(node)) {
    return failure();
  }
  operand = *node;
  return graph->resolve();
}

void ScanLoops::emitItem(Body &body, Value item) {
  Lanes &l = body.lanes;
  int64_t groups = items(l.width) / outer;
  auto [first, group] = l.divide(item, groups);
  Value col = l.mul(group, l.index(l.width));
  Value mask = l.width > 1 ? l.maskBelow(l.sub(l.index(inner), col)) : Value();
  Value firstRow = l.mul(first, l.index(length));
  SmallVector<Value> zero{l.zero(l.vectorOf(valueType(operand->element)))};
  body.loop(
      l.index(0), l.index(length), 1, zero, [&](Value i, ValueRange carried) {
        Value place = cumsum.getReverse() ? l.sub(l.index(length - 1), i) : i;
        Value row = l.add(firstRow, place);
        body.enterRow(row);
        body.prepare(operand);
        Chunk chunk(col, mask);
        Value value = l.splat(body.vector(operand, chunk));
        Value sum = l.add(carried[0], value);
        Value offset = l.add(l.mul(row, l.index(inner)), col);
        body.store(body.resultPointer(0), offset,
                   cumsum.getExclusive() ? carried[0] : sum, mask);
        return SmallVector<Value>{sum};
      });
}
