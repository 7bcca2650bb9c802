//===- SplitLongRows.cpp - reductions of long rows in parallel ------------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Numerics.h"
#include "passes/kernels/Passes.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_SPLITLONGROWS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// A reduction as rows, each of which becomes one number.
struct Rows {
  int64_t count = 1, columns = 1;
};

/// Nothing if it reduces anything but the last dimensions; those of size 1 do
/// not count.
std::optional<Rows> rowsOf(ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  Rows rows;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (llvm::is_contained(op.getDims(), static_cast<int64_t>(dim))) {
      rows.columns *= size;
    } else if (rows.columns == 1) {
      rows.count *= size;
    } else if (size != 1) {
      return std::nullopt;
    }
  }
  return rows;
}

class Splitter {
public:
  Splitter(ReduceOp op, Rows rows) : op(op), rows(rows), builder(op) {}

  void split() {
    int64_t whole = rows.columns / kRowSegment;
    int64_t rest = rows.columns % kRowSegment;
    Value x = reshape(op.getOperand(), {rows.count, rows.columns});
    Value segments = reduce(reshape(slice(x, 0, whole * kRowSegment),
                                    {rows.count, whole, kRowSegment}),
                            2);
    Value result = fold(reshape(segments, {rows.count, whole}));
    if (rest != 0) {
      Value last = reduce(slice(x, whole * kRowSegment, rest), 1);
      result = builder.create<BinaryOp>(op.getLoc(), combining(), result, last);
    }
    op.replaceAllUsesWith(
        reshape(result, cast<RankedTensorType>(op.getType()).getShape()));
    op.erase();
  }

private:
  RankedTensorType typeOf(ArrayRef<int64_t> shape) {
    return op.getType().clone(shape);
  }

  Value reshape(Value x, ArrayRef<int64_t> shape) {
    return x.getType() == typeOf(shape)
               ? x
               : builder.create<ReshapeOp>(op.getLoc(), typeOf(shape), x);
  }

  /// Columns [first, first + count).
  Value slice(Value x, int64_t first, int64_t count) {
    auto type = typeOf({rows.count, count});
    return x.getType() == type
               ? x
               : builder.create<SliceOp>(op.getLoc(), type, x,
                                         ArrayRef<int64_t>{0, first},
                                         ArrayRef<int64_t>{1, 1});
  }

  Value reduce(Value x, int64_t dim) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(x.getType()).getShape());
    shape[dim] = 1;
    return builder.create<ReduceOp>(op.getLoc(), typeOf(shape), op.getKind(), x,
                                    dim);
  }

  /// Folds [rows, segments] to one number a row. The order of sums is that of
  /// the segments, which a running sum keeps; max and min have none.
  Value fold(Value segments) {
    int64_t count = cast<RankedTensorType>(segments.getType()).getDimSize(1);
    if (op.getKind() != ReduceKind::sum) {
      return reduce(segments, 1);
    }
    Value sums = builder.create<CumsumOp>(op.getLoc(), segments, /*dim=*/1,
                                          /*exclusive=*/false,
                                          /*reverse=*/false);
    return slice(sums, count - 1, 1);
  }

  BinaryKind combining() {
    switch (op.getKind()) {
    case ReduceKind::sum:
      return BinaryKind::add;
    case ReduceKind::max:
      return BinaryKind::max;
    case ReduceKind::min:
      return BinaryKind::min;
    case ReduceKind::prod:
      break;
    }
    llvm_unreachable("products are not split");
  }

  ReduceOp op;
  Rows rows;
  OpBuilder builder;
};

struct SplitLongRowsPass : nn::impl::SplitLongRowsBase<SplitLongRowsPass> {
  using SplitLongRowsBase::SplitLongRowsBase;

  void runOnOperation() override {
    SmallVector<std::pair<ReduceOp, Rows>> reductions;
    getOperation().walk([&](ReduceOp op) {
      std::optional<Rows> rows = rowsOf(op);
      if (rows && rows->count <= maxRows &&
          rows->columns >= int64_t(minSegments) * kRowSegment &&
          op.getKind() != ReduceKind::prod) {
        reductions.emplace_back(op, *rows);
      }
    });
    for (auto [op, rows] : reductions) {
      Splitter(op, rows).split();
    }
    splits += reductions.size();
    if (reductions.empty()) {
      markAllAnalysesPreserved();
    }
  }
};

} // namespace
