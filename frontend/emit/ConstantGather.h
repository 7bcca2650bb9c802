//===- ConstantGather.h - the elements of an axis in a constant order -----===//

#ifndef ZEROGRAPH_FRONTEND_EMIT_CONSTANTGATHER_H
#define ZEROGRAPH_FRONTEND_EMIT_CONSTANTGATHER_H

#include "frontend/emit/Emitter.h"

namespace zerograph::frontend {

/// Element i along `axis` of the result is element `indices[i]` of `x`; indices
/// lie within the axis. Emits slices and repetitions if the indices allow it,
/// as their gradient needs no scatter; else a gather.
mlir::Value gatherConstant(Emitter &emit, mlir::Value x, int64_t axis,
                           const std::vector<int64_t> &indices);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EMIT_CONSTANTGATHER_H
