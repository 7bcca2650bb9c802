//===- FoldKernel.h - the kernel that adds contributions up ---------------===//
//
// Beside the kernels that steps launch, the first module of a CUDA plan has one
// for each type in which what its collectives add up travels:
//
//   void symbol(Sum *sum, const Wire *contributions, uint64 stride,
//               uint64 count, uint64 elements, uint64 accumulate)
//
//   sum <- ((sum + c[0]) + c[1]) + ... elementwise, from +0.0 unless
//   `accumulate`; contribution i begins `stride` elements after the one before.
//   Bf16 and f16 are added up in f32, other types in their own.
//
// A thread an element. codegen/cuda writes it, and collectives launch it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_FOLDKERNEL_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_FOLDKERNEL_H

#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/plan.pb.h"

#include <set>
#include <string>

namespace zerograph {

inline constexpr unsigned kFoldBlock = 128;

inline std::string foldSymbol(plan::ElementType wire) {
  return "fold_" + std::string(nameOf(wire));
}

/// Returns the types that a plan needs such a kernel for.
inline std::set<plan::ElementType> foldedWires(const plan::Plan &plan) {
  std::set<plan::ElementType> wires;
  forEachStep(plan, [&](int, int, const plan::Step &step) {
    if (step.has_reduce_scatter()) {
      wires.insert(step.reduce_scatter().wire());
    } else if (step.has_all_reduce()) {
      wires.insert(step.all_reduce().wire());
    }
  });
  return wires;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_FOLDKERNEL_H
