//===- CudnnDescriptor.h - a descriptor of cuDNN, owned -------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNDESCRIPTOR_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNDESCRIPTOR_H

#include "runtime/device/cuda/CudnnApi.h"

#include <vector>

namespace zerograph {

/// All that cuDNN is told, and tells, are descriptors: made, given attributes,
/// finalized. Descriptors that one was given
/// outlive it; values are copied.
class CudnnDescriptor {
public:
  static absl::StatusOr<CudnnDescriptor>
  create(const CudnnApi &api, cudnnBackendDescriptorType_t type);
  CudnnDescriptor() = default;
  CudnnDescriptor(CudnnDescriptor &&other) noexcept { swap(other); }
  CudnnDescriptor &operator=(CudnnDescriptor &&other) noexcept {
    swap(other);
    return *this;
  }
  ~CudnnDescriptor();

  cudnnBackendDescriptor_t get() const { return made; }

  /// `count` values of a type of the header.
  absl::Status set(cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int64_t count,
                   const void *values);
  absl::Status set(cudnnBackendAttributeName_t name,
                   const std::vector<int64_t> &values);
  /// Sets an attribute of an enumeration.
  absl::Status set(cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, int32_t value);
  absl::Status set(cudnnBackendAttributeName_t name,
                   const CudnnDescriptor &descriptor);
  absl::Status set(cudnnBackendAttributeName_t name, cudnnHandle_t handle);
  absl::Status finalize();

  absl::StatusOr<int64_t> number(cudnnBackendAttributeName_t name) const;
  /// At most `most` values of an enumeration.
  absl::StatusOr<std::vector<int32_t>> values(cudnnBackendAttributeName_t name,
                                              cudnnBackendAttributeType_t type,
                                              int64_t most) const;
  /// At most `most` descriptors of a type.
  absl::StatusOr<std::vector<CudnnDescriptor>>
  descriptors(cudnnBackendAttributeName_t name,
              cudnnBackendDescriptorType_t type, int64_t most) const;

private:
  CudnnDescriptor(const CudnnApi &api, cudnnBackendDescriptor_t made)
      : api(&api), made(made) {}
  void swap(CudnnDescriptor &other) {
    std::swap(api, other.api);
    std::swap(made, other.made);
  }

  const CudnnApi *api = nullptr;
  cudnnBackendDescriptor_t made = nullptr;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNDESCRIPTOR_H
