//===- Driver.cpp - the driver of a plan's device -------------------------===//

#include "runtime/device/Driver.h"

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaDriver.h"
#include "runtime/device/host/HostDriver.h"
#include "runtime/device/host/TargetCheck.h"

using namespace zerograph;

bool zerograph::lostAccelerator() { return CudaContext::anyAbandoned(); }

absl::StatusOr<std::vector<std::string>>
zerograph::listAccelerators(const plan::Target &target) {
  if (target.device() == "cuda") {
    return listGpus();
  }
  return std::vector<std::string>{""};
}

absl::StatusOr<std::unique_ptr<Driver>>
zerograph::openDriver(const plan::Target &target, unsigned number) {
  if (target.device() == "cuda") {
    return openCudaDriver(target, number);
  }
  ZG_RETURN_IF_ERROR(checkTarget(target));
  return makeHostDriver();
}
