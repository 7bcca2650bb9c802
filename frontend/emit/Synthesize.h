//===- Synthesize.h - constants as few small ops --------------------------===//

#ifndef ZEROGRAPH_FRONTEND_EMIT_SYNTHESIZE_H
#define ZEROGRAPH_FRONTEND_EMIT_SYNTHESIZE_H

#include "frontend/emit/Emitter.h"

#include <optional>

namespace zerograph::frontend {

/// Emits a constant: as a splat; with repeated dims broadcast; as literal data
/// where it is small; as iota arithmetic where it is affine in its index; as a
/// compare of iotas where it is a band of one of two values (a causal mask).
/// Null where none of these fits into nn::kMaxConstantBytes.
mlir::Value synthesize(Emitter &emit, const HostTensor &tensor);

/// If element i is `first + i * step` for all i in row-major order.
struct Progression {
  int64_t first, step;
};
std::optional<Progression> asProgression(const HostTensor &tensor);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EMIT_SYNTHESIZE_H
