//===- GpuGroup.h - ranks that share a GPU --------------------------------===//
//
// Ranks that are threads of one process on one GPU exchange by copies on their
// own streams. Where a rank reads what others have made, its stream awaits
// their events; all ranks meet before, so that each event is recorded when it
// is awaited.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_CUDA_GPUGROUP_H
#define ZEROGRAPH_RUNTIME_COMM_CUDA_GPUGROUP_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/ControlPlane.h"
#include "runtime/device/Device.h"

namespace zerograph {

/// Returns the collectives of each rank of `controls`, in rank order: a rank's
/// issuing thread meets the others' through its own. `module` is the GPU's; it
/// and the controls outlive them.
std::vector<std::unique_ptr<Collectives>>
makeGpuGroup(const Module &module, absl::Span<ControlPlane *const> controls);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_CUDA_GPUGROUP_H
