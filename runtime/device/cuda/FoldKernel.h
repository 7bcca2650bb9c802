//===- FoldKernel.h - the kernel that adds contributions up ---------------===//
//
// Beside the kernels that steps launch, the module of a CUDA plan of several
// ranks has one for each type that reductions add up:
//
//   void symbol(T *sum, const T *contributions, uint64 stride, uint64 count,
//               uint64 elements, uint64 accumulate)
//
//   sum <- ((sum + c[0]) + c[1]) + ... elementwise, from +0.0 unless
//   `accumulate`; contribution i begins `stride` elements after the one before.
//
// A thread an element. codegen/cuda writes it, and collectives launch it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_FOLDKERNEL_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_FOLDKERNEL_H

#include "runtime/plan/plan.pb.h"

namespace zerograph {

inline constexpr unsigned kFoldBlock = 128;
inline constexpr plan::ElementType kFoldTypes[] = {plan::F32, plan::F64};

inline const char *foldSymbol(plan::ElementType type) {
  return type == plan::F32 ? "fold_f32" : "fold_f64";
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_FOLDKERNEL_H
