//===- Scatter.cpp - rows into a table ------------------------------------===//

#include "codegen/emit/Elementwise.h"
#include "codegen/host/forms/Forms.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

/// The argument that the scatter goes into; null: into zeros.
BlockArgument tableOf(nn::ScatterOp scatter) {
  Value table = scatter.getInto();
  return table ? dyn_cast<BlockArgument>(nn::stripReshapes(table)) : nullptr;
}

/// The rows of the table that must be set before any is updated: none where
/// the result has the bytes of the table that it begins as.
Value rowsToSet(Lanes &l, Value table, Value result, int64_t rows) {
  auto addressOf = [&](Value pointer) {
    return l.b.create<LLVM::PtrToIntOp>(l.b.getI64Type(), pointer);
  };
  Value same = l.b.create<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                         addressOf(table), addressOf(result));
  return l.b.create<arith::SelectOp>(same, l.index(0), l.index(rows));
}

} // namespace

/// Threads take columns of the table, so that every element is set and updated
/// by one of them, in the order of the updates. Row of the domain: an update.
FailureOr<WorkRange> host::emitScatter(ImplicitLocOpBuilder &b,
                                       nn::KernelOp kernel, StringRef name) {
  auto yield = cast<nn::YieldOp>(kernel.getBody().front().getTerminator());
  auto scatter = yield->getNumOperands() == 1
                     ? yield.getOperand(0).getDefiningOp<nn::ScatterOp>()
                     : nn::ScatterOp();
  if (!scatter) {
    return kernel.emitError("'") << nn::nameOf(kernel.getLoc())
                                 << "': a scatter yields its nn.scatter";
  }
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(scatter.getType()).getShape();
  BlockArgument base = tableOf(scatter);
  if (scatter.getInto() && !base) {
    return kernel.emitError("'") << nn::nameOf(kernel.getLoc())
                                 << "': a scatter goes into an argument of its "
                                    "kernel, or into zeros";
  }
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
  HostBody body(b, kernel, graph, name);
  Lanes &l = body.lanes;
  body.enterKernel();
  Value table = body.resultPointer(0);
  Value from = base ? body.operandPointer(base.getArgNumber()) : Value();
  Type element = (*update)->element;
  std::optional<nn::ReduceKind> combine = scatter.getCombine();
  Value zero = l.zero(l.vectorOf(valueType(element)));

  // Elements [begin, end), sixteen at a time.
  auto forRange = [&](Value begin, Value end,
                      llvm::function_ref<void(Value, Value)> emit) {
    Value step = l.index(kLanes);
    Value whole = b.create<arith::DivUIOp>(l.sub(end, begin), step);
    Value middle = l.add(begin, l.mul(whole, step));
    body.loop(begin, middle, kLanes, {}, [&](Value at, ValueRange) {
      emit(at, {});
      return SmallVector<Value>();
    });
    body.loop(middle, end, kLanes, {}, [&](Value at, ValueRange) {
      emit(at, l.maskBelow(l.sub(end, at)));
      return SmallVector<Value>();
    });
  };
  auto setFirst = [&](Value offset, Value mask) {
    Value first =
        from ? body.load(from, offset, element, /*asVector=*/true, mask) : zero;
    body.store(table, offset, first, mask);
  };
  Value set = from ? rowsToSet(l, from, table, tableRows) : l.index(tableRows);
  if (cols < kLanes) {
    // One thread has all columns, the others none: rows lie side by side.
    forRange(l.index(0), l.mul(set, l.sub(body.end, body.begin)), setFirst);
  } else {
    body.loop(l.index(0), set, 1, {}, [&](Value row, ValueRange) {
      Value start = l.mul(row, l.index(cols));
      forRange(body.begin, body.end, [&](Value col, Value mask) {
        setFirst(l.add(start, col), mask);
      });
      return SmallVector<Value>();
    });
  }
  body.loop(l.index(0), l.index(updates), 1, {}, [&](Value row, ValueRange) {
    body.enterRow(row);
    Value chosen = body.scalar(*index);
    if (!chosen.getType().isInteger(64)) {
      chosen = b.create<arith::ExtSIOp>(b.getI64Type(), chosen);
    }
    chosen = l.min(l.max(chosen, l.index(0)), l.index(tableRows - 1));
    Value start = l.mul(chosen, l.index(cols));
    body.prepare(*update);
    forRange(body.begin, body.end, [&](Value col, Value mask) {
      Chunk chunk(col, mask);
      Value value = l.splat(body.vector(*update, chunk));
      Value offset = l.add(start, col);
      if (combine) {
        Value old = body.load(table, offset, element, /*asVector=*/true, mask);
        value = emitCombine(l, *combine, element, old, value);
      }
      body.store(table, offset, value, mask);
    });
    return SmallVector<Value>();
  });
  body.finish();
  return WorkRange{cols, kLanes};
}
