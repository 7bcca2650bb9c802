//===- Synthesize.h - constants as few small ops --------------------------===//

#ifndef ZEROGRAPH_FRONTEND_EMIT_SYNTHESIZE_H
#define ZEROGRAPH_FRONTEND_EMIT_SYNTHESIZE_H

#include "frontend/emit/Emitter.h"

#include <optional>

namespace zerograph::frontend {

/// Emits a constant in the first of these forms that fits: a splat, small
/// literal data, arithmetic of iotas if it is affine in its index, a comparison
/// of iotas if it is a band of two values (a causal mask), literal data of at
/// most nn::kMaxConstantBytes. Dims along which it repeats are broadcast. Else
/// null.
mlir::Value synthesize(Emitter &emit, const HostTensor &tensor);

/// Element i, in row-major order, is `first + i * step`.
struct Progression {
  int64_t first, step;
};
std::optional<Progression> asProgression(const HostTensor &tensor);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EMIT_SYNTHESIZE_H
