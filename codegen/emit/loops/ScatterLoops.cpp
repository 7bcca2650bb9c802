//===- ScatterLoops.cpp - how rows go into a table ------------------------===//

#include "codegen/emit/loops/ScatterLoops.h"

#include "codegen/emit/Elementwise.h"
#include "passes/ir/nn/Queries.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

LogicalResult ScatterLoops::find(nn::KernelOp kernel) {
  auto yield = cast<nn::YieldOp>(kernel.getBody().front().getTerminator());
  if (yield->getNumOperands() == 1) {
    scatter = yield.getOperand(0).getDefiningOp<nn::ScatterOp>();
  }
  if (!scatter) {
    return kernel.emitError("'") << nn::nameOf(kernel.getLoc())
                                 << "': a scatter yields its nn.scatter";
  }
  if (Value into = scatter.getInto()) {
    table = dyn_cast<BlockArgument>(nn::stripReshapes(into));
    if (!table) {
      return kernel.emitError("'")
             << nn::nameOf(kernel.getLoc())
             << "': a scatter goes into an argument of its kernel, or into "
                "zeros";
    }
  }
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(scatter.getType()).getShape();
  tableRows = shape.front();
  cols = ShapedType::getNumElements(shape.drop_front());
  updates =
      cast<RankedTensorType>(scatter.getIndices().getType()).getNumElements();
  graph.emplace(Domain{updates, cols}, /*reducesColumns=*/true);
  FailureOr<Node *> indices = graph->add(scatter.getIndices(), Extent::Row);
  FailureOr<Node *> rows = graph->add(scatter.getUpdates(), Extent::Full);
  if (failed(indices) || failed(rows)) {
    return failure();
  }
  index = *indices;
  update = *rows;
  return graph->resolve();
}

Value ScatterLoops::enterUpdate(Body &body, Value number) {
  Lanes &l = body.lanes;
  body.enterRow(number);
  return l.clampIndex(body.scalar(index), tableRows);
}

void ScatterLoops::emitUpdate(Body &body, Value start, Value col, Value mask) {
  Lanes &l = body.lanes;
  Chunk chunk(col, mask);
  Value value = l.splat(body.vector(update, chunk));
  Value offset = l.add(start, col);
  if (scatter.getCombine()) {
    value = combined(body, loadOld(body, offset, mask), value);
  }
  body.store(body.resultPointer(0), offset, value, mask);
}

Value ScatterLoops::combined(Body &body, Value old, Value value) {
  std::optional<nn::ReduceKind> combine = scatter.getCombine();
  return combine
             ? emitCombine(body.lanes, *combine, update->element, old, value)
             : value;
}

Value ScatterLoops::loadOld(Body &body, Value offset, Value mask,
                            int64_t together) {
  return body.load(body.resultPointer(0), offset, update->element,
                   /*asVector=*/true, mask, {}, together);
}

Value ScatterLoops::updated(Body &body, Value old, Value col, Value mask) {
  Chunk chunk(col, mask);
  return combined(body, old, body.lanes.splat(body.vector(update, chunk)));
}

Value ScatterLoops::rowsToSet(Body &body) {
  Lanes &l = body.lanes;
  if (!table) {
    return l.index(tableRows);
  }
  Value same = body.isResult(table.getArgNumber());
  return l.select(same, l.index(0), l.index(tableRows));
}

void ScatterLoops::emitSet(Body &body, Value offset, Value mask,
                           int64_t together) {
  Lanes &l = body.lanes;
  Value first =
      table ? body.load(body.operandPointer(table.getArgNumber()), offset,
                        update->element, /*asVector=*/true, mask, {}, together)
            : l.zero(l.vectorOf(valueType(update->element)));
  body.store(body.resultPointer(0), offset, first, mask, together);
}
