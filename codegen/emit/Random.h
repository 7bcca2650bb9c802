//===- Random.h - counter-based random numbers on lanes -------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_RANDOM_H
#define ZEROGRAPH_CODEGEN_EMIT_RANDOM_H

#include "codegen/emit/Lanes.h"

namespace mlir::zg::emit {

/// `nn.random_uniform`: f32 in [0, 1) of i64 seed, step and index.
Value emitUniform(Lanes &lanes, Value seed, Value step, Value index,
                  int64_t number);

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_RANDOM_H
