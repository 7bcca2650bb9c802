//===- HostOperations.h - what a host stream can do -----------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTOPERATIONS_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTOPERATIONS_H

#include "runtime/device/Device.h"
#include "runtime/device/host/WorkerPool.h"

namespace zerograph {

/// Makes the operation of `step`, shared by the threads of `pool`, which
/// outlives it, as do `module` and the step's buffers. Collectives are not the
/// device's.
absl::StatusOr<std::unique_ptr<Operation>>
makeOperation(WorkerPool &pool, const Module *module, const StepBinding &step);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTOPERATIONS_H
