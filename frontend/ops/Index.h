//===- Index.h - indices into tensors -------------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_INDEX_H
#define ZEROGRAPH_FRONTEND_OPS_INDEX_H

#include "frontend/ops/Ops.h"

namespace zerograph::frontend {

/// An index into `size` elements of input 0, made non-negative; fails if it is
/// outside of [-size, size).
int64_t checkedIndex(Op &op, int64_t index, int64_t size);
/// Constant indices into `size` elements of input 0, checked, none negative.
HostTensor checkedIndices(Op &op, const HostTensor &indices, int64_t size);

/// `indices` into `size` elements, none negative: those below 0 count from the
/// end. Constant ones (`host`) are checked here; for those of a model's input a
/// check is noted, which runs before the data are used. Indices that the
/// program computes mean the nearest element where they lie outside.
mlir::Value indexInto(Op &op, mlir::Value indices, const HostTensor *host,
                      int64_t size);
/// For indices into one axis of `data`, element by element: the row-major
/// number of the element that each one means.
mlir::Value elementNumber(Emitter &emit, mlir::Value index, const Shape &data,
                          int64_t axis);
/// Number k of the last dim of input 1, as indexInto gives it.
mlir::Value indexColumn(Op &op, int64_t k, int64_t size);

/// If input 0 is a constant of one value, any gather of it is too: sets output
/// 0 to that, in `shape`. False if it is not.
bool gatherSplat(Op &op, const Shape &shape);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_INDEX_H
