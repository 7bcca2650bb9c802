//===- CudnnDescriptor.cpp - a descriptor of cuDNN, owned -----------------===//

#include "runtime/device/cuda/CudnnDescriptor.h"

using namespace zerograph;

absl::StatusOr<CudnnDescriptor>
CudnnDescriptor::create(const CudnnApi &api,
                        cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t made = nullptr;
  ZG_CUDNN(api, cudnnBackendCreateDescriptor, type, &made);
  return CudnnDescriptor(api, made);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (made) {
    api->cudnnBackendDestroyDescriptor(made);
  }
}

absl::Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                  cudnnBackendAttributeType_t type,
                                  int64_t count, const void *values) {
  return annotate(cudnnStatus(*api,
                              api->cudnnBackendSetAttribute(made, name, type,
                                                            count, values),
                              "cudnnBackendSetAttribute"),
                  absl::StrCat("attribute ", name));
}

absl::Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                  const std::vector<int64_t> &values) {
  return set(name, CUDNN_TYPE_INT64, int64_t(values.size()), values.data());
}

absl::Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                  cudnnBackendAttributeType_t type,
                                  int32_t value) {
  return set(name, type, 1, &value);
}

absl::Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                  const CudnnDescriptor &descriptor) {
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor.made);
}

absl::Status CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                  cudnnHandle_t handle) {
  return set(name, CUDNN_TYPE_HANDLE, 1, &handle);
}

absl::Status CudnnDescriptor::finalize() {
  return cudnnStatus(*api, api->cudnnBackendFinalize(made),
                     "cudnnBackendFinalize");
}

absl::StatusOr<int64_t>
CudnnDescriptor::number(cudnnBackendAttributeName_t name) const {
  int64_t value = 0, count = 0;
  ZG_CUDNN(*api, cudnnBackendGetAttribute, made, name, CUDNN_TYPE_INT64, 1,
           &count, &value);
  return value;
}

absl::StatusOr<std::vector<int32_t>>
CudnnDescriptor::values(cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t most) const {
  std::vector<int32_t> all(size_t(most), 0);
  int64_t count = 0;
  ZG_CUDNN(*api, cudnnBackendGetAttribute, made, name, type, most, &count,
           all.data());
  all.resize(size_t(std::min(count, most)));
  return all;
}

absl::StatusOr<std::vector<CudnnDescriptor>>
CudnnDescriptor::descriptors(cudnnBackendAttributeName_t name,
                             cudnnBackendDescriptorType_t type,
                             int64_t most) const {
  // The library fills descriptors that it is given.
  std::vector<CudnnDescriptor> all;
  std::vector<cudnnBackendDescriptor_t> given;
  for (int64_t i = 0; i < most; ++i) {
    ZG_ASSIGN_OR_RETURN(CudnnDescriptor room, create(*api, type));
    given.push_back(room.get());
    all.push_back(std::move(room));
  }
  int64_t count = 0;
  ZG_CUDNN(*api, cudnnBackendGetAttribute, made, name,
           CUDNN_TYPE_BACKEND_DESCRIPTOR, most, &count, given.data());
  all.resize(size_t(std::min(count, most)));
  return all;
}
