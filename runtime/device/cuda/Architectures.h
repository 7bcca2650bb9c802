//===- Architectures.h - the GPUs that plans are made for -----------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_ARCHITECTURES_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_ARCHITECTURES_H

#include <optional>

namespace zerograph {

/// The architectures of `--target cuda:sm_N`, ascending. A plan for one runs on
/// GPUs of it and of all later ones.
inline constexpr int kArchitectures[] = {80, 90};

/// The newest whose plans a GPU of compute capability `capability` (90 for 9.0)
/// runs; nothing for an older one than all of them.
inline std::optional<int> architectureFor(int capability) {
  std::optional<int> found;
  for (int architecture : kArchitectures) {
    if (architecture <= capability) {
      found = architecture;
    }
  }
  return found;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_ARCHITECTURES_H
