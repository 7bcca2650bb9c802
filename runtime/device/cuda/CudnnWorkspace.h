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
/// channels made up to a multiple of 16 bytes; beside it lie partial sums. With
/// cuDNN 9.28 this is enough for the engine that the heuristic would choose
/// with any workspace, in 285 of 288 cases of CudnnEnginesTest.cpp.
inline uint64_t convolutionWorkspace(const plan::Convolution &c,
                                     absl::string_view architecture,
                                     bool allow_tf32) {
  const bool half =
      c.element_type() == plan::BF16 || c.element_type() == plan::F16;
  const uint64_t sums = uint64_t(half ? 10 : 4) << 20;
  bool copies = half || (c.element_type() == plan::F32 &&
                         (allow_tf32 || architecture != "sm_80"));
  if (!copies) {
    return sums;
  }
  const uint64_t bytes = half ? 2 : 4, together = 16 / bytes;
  auto filled = [&](uint64_t channels) {
    return (channels + together - 1) / together * together;
  };
  uint64_t input = c.samples() * filled(c.channels());
  uint64_t weights = c.features() * filled(c.channels() / c.groups());
  uint64_t output = c.samples() * filled(c.features());
  for (int i = 0; i < c.input_size(); ++i) {
    input *= c.input(i);
    weights *= c.window(i);
    output *= c.output(i);
  }
  return sums + bytes * (input + weights + output);
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNWORKSPACE_H
