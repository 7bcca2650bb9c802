//===- CudaContext.cpp - a GPU, opened ------------------------------------===//

#include "runtime/device/cuda/CudaContext.h"

using namespace zerograph;

absl::StatusOr<int> zerograph::capabilityOf(const CudaApi &api,
                                            CUdevice device) {
  int major = 0, minor = 0;
  ZG_CUDA(api, cuDeviceGetAttribute, &major,
          CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  ZG_CUDA(api, cuDeviceGetAttribute, &minor,
          CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  return major * 10 + minor;
}

absl::StatusOr<std::shared_ptr<CudaContext>>
CudaContext::open(const CudaApi &api, int number) {
  CUdevice device = 0;
  ZG_CUDA(api, cuDeviceGet, &device, number);
  std::shared_ptr<CudaContext> context(new CudaContext(api, device));
  ZG_ASSIGN_OR_RETURN(int capability, capabilityOf(api, device));
  context->arch = absl::StrCat("sm_", capability);
  ZG_CUDA(api, cuDeviceGetAttribute, &context->sms,
          CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  ZG_CUDA(api, cuDevicePrimaryCtxRetain, &context->handle, device);
  ZG_RETURN_IF_ERROR(context->enter());
  return context;
}

CudaContext::~CudaContext() {
  if (handle && !abandoned) {
    api.cuDevicePrimaryCtxRelease(device);
  }
}

absl::Status CudaContext::enter() const {
  if (abandoned) {
    return absl::AbortedError("the GPU did not come back");
  }
  ZG_CUDA(api, cuCtxSetCurrent, handle);
  return absl::OkStatus();
}
