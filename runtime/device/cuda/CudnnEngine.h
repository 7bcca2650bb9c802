//===- CudnnEngine.h - an engine's name, and how it is set ----------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNENGINE_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNENGINE_H

#include "runtime/device/cuda/CudnnDescriptor.h"

#include <map>
#include <string>

namespace zerograph {

/// The number by which the library knows an engine, and how it is set.
struct CudnnEngine {
  int64_t index = 0;
  std::map<int32_t, int64_t> knobs; ///< by cudnnBackendKnobType_t

  /// "engine 70, 2=12 18=0".
  std::string text() const;
  static absl::StatusOr<CudnnEngine> parse(absl::string_view text);
  /// An engine, of its descriptor and that of how it is set.
  static absl::StatusOr<CudnnEngine> read(const CudnnDescriptor &named,
                                          const CudnnDescriptor &config);
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNENGINE_H
