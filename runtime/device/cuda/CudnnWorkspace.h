//===- CudnnWorkspace.h - a convolution's working space -------------------===//
//
// For the compiler, which plans it before anybody knows which engine there is:
// by the convolution and the architecture alone.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNWORKSPACE_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNWORKSPACE_H

#include "runtime/plan/plan.pb.h"

#include "absl/strings/string_view.h"

namespace zerograph {

/// Bytes for cuDNN. Engines on tensor cores, and on sm_90 the fast ones for the
/// gradient of weights, copy all three tensors into another layout, their
/// channels made up to a multiple of four; beside it lie partial sums. With
/// cuDNN 9.19 this is enough for the engine that the heuristic would choose
/// with any workspace, in 139 of 144 cases of CudnnEnginesTest.cpp.
inline uint64_t convolutionWorkspace(const plan::Convolution &c,
                                     absl::string_view architecture,
                                     bool allow_tf32) {
  constexpr uint64_t kSums = uint64_t(4) << 20;
  bool copies =
      c.element_type() == plan::F32 && (allow_tf32 || architecture != "sm_80");
  if (!copies) {
    return kSums;
  }
  auto fours = [](uint64_t channels) { return (channels + 3) / 4 * 4; };
  uint64_t input = c.samples() * fours(c.channels());
  uint64_t weights = c.features() * fours(c.channels() / c.groups());
  uint64_t output = c.samples() * fours(c.features());
  for (int i = 0; i < c.input_size(); ++i) {
    input *= c.input(i);
    weights *= c.window(i);
    output *= c.output(i);
  }
  return kSums + 4 * (input + weights + output);
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNWORKSPACE_H
