//===- FoldKernel.h - the kernels that add contributions up ---------------===//
//
// Beside the kernels that steps launch, the first module of a CUDA plan has two
// for each type in which what its collectives add up travels:
//
//   void symbol(Sum *sum, const Wire *contributions, uint64 stride,
//               uint64 count, uint64 elements, uint64 accumulate)
//
//   sum <- ((sum + c[0]) + c[1]) + ... elementwise, from +0.0 unless
//   `accumulate`; contribution i begins `stride` elements after the one before.
//   Bf16 and f16 are added up in f32, other types in their own.
//
// A thread of the first has one element. One of the second has 16 bytes of what
// travels: elements are a multiple of these, and sum, contributions and stride
// begin at multiples of 16 bytes. codegen/cuda writes them, and collectives
// launch them.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_FOLDKERNEL_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_FOLDKERNEL_H

#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/plan.pb.h"

#include <array>
#include <set>
#include <string>

namespace zerograph {

inline constexpr unsigned kFoldBlock = 128;

/// Bytes of the longest access.
inline constexpr uint64_t kFoldAccess = 16;

/// Returns how many elements a thread of the second kernel has.
inline uint64_t foldWidth(plan::ElementType wire) {
  return kFoldAccess / elementSize(wire);
}

/// Returns how many those of both kernels have.
inline std::array<uint64_t, 2> foldWidths(plan::ElementType wire) {
  return {1, foldWidth(wire)};
}

/// Returns the name of the kernel whose threads have `width` elements.
inline std::string foldSymbol(plan::ElementType wire, uint64_t width) {
  std::string name = "fold_" + std::string(nameOf(wire));
  return width == 1 ? name : name + "_by_" + std::to_string(width);
}

/// Returns the types that a plan needs such kernels for.
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
