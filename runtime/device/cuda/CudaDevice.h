//===- CudaDevice.h - a GPU as a rank's device ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/device/Driver.h"
#include "runtime/device/cuda/CudaContext.h"

namespace zerograph {

std::unique_ptr<Device> makeCudaDevice(std::shared_ptr<CudaContext> context,
                                       const DeviceOptions &options);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
