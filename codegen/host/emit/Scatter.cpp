//===- Scatter.cpp - sums of rows into a table ----------------------------===//

#include "codegen/host/emit/Forms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

/// Threads take columns of the table, so that every element is summed by one
/// of them, in the order of the updates. Row of the domain: an update.
FailureOr<WorkRange> host::emitScatter(ImplicitLocOpBuilder &b,
                                       nn::KernelOp kernel, StringRef name) {
  auto yield = cast<nn::YieldOp>(kernel.getBody().front().getTerminator());
  auto scatter = yield->getNumOperands() == 1
                     ? yield.getOperand(0).getDefiningOp<nn::ScatterAddOp>()
                     : nn::ScatterAddOp();
  if (!scatter) {
    return kernel.emitError("'") << nn::nameOf(kernel.getLoc())
                                 << "': a scatter yields its nn.scatter_add";
  }
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(scatter.getType()).getShape();
  int64_t tableRows = shape.front();
  int64_t cols = ShapedType::getNumElements(shape.drop_front());
  int64_t updates =
      cast<RankedTensorType>(scatter.getIndices().getType()).getNumElements();
  Graph graph(Domain{updates, cols}, /*reducesColumns=*/true);
  FailureOr<Node *> index = graph.add(scatter.getIndices(), Extent::Row);
  FailureOr<Node *> update = graph.add(scatter.getUpdates(), Extent::Full);
  if (failed(index) || failed(update) || failed(graph.resolve())) {
    return failure();
  }
  Body body(b, kernel, graph, name);
  Lanes &l = body.lanes;
  body.enterKernel();
  Value table = body.resultPointer(0);
  Type element = (*update)->element;
  Value zero = l.zero(l.vectorOf(valueType(element)));

  // Columns [begin, end) of one row of the table, sixteen at a time.
  Value step = l.index(kLanes);
  Value whole = b.create<arith::DivUIOp>(l.sub(body.end, body.begin), step);
  Value middle = l.add(body.begin, l.mul(whole, step));
  auto forColumns = [&](llvm::function_ref<void(Value, Value)> emit) {
    body.loop(body.begin, middle, kLanes, {}, [&](Value col, ValueRange) {
      emit(col, {});
      return SmallVector<Value>();
    });
    body.loop(middle, body.end, kLanes, {}, [&](Value col, ValueRange) {
      emit(col, l.maskBelow(l.sub(body.end, col)));
      return SmallVector<Value>();
    });
  };
  body.loop(l.index(0), l.index(tableRows), 1, {}, [&](Value row, ValueRange) {
    Value start = l.mul(row, l.index(cols));
    forColumns([&](Value col, Value mask) {
      body.store(table, l.add(start, col), zero, mask);
    });
    return SmallVector<Value>();
  });
  body.loop(l.index(0), l.index(updates), 1, {}, [&](Value row, ValueRange) {
    body.enterRow(row);
    Value chosen = body.scalar(*index);
    if (!chosen.getType().isInteger(64)) {
      chosen = b.create<arith::ExtSIOp>(b.getI64Type(), chosen);
    }
    chosen = l.min(l.max(chosen, l.index(0)), l.index(tableRows - 1));
    Value start = l.mul(chosen, l.index(cols));
    body.prepare(*update);
    forColumns([&](Value col, Value mask) {
      Chunk chunk(col, mask);
      Value value = l.splat(body.vector(*update, chunk));
      Value offset = l.add(start, col);
      Value old = body.load(table, offset, element, /*asVector=*/true, mask);
      body.store(table, offset, l.add(old, value), mask);
    });
    return SmallVector<Value>();
  });
  body.finish();
  return WorkRange{cols, kLanes};
}
