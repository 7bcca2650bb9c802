//===- GpuCollective.h - one collective between ranks on a GPU ------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_CUDA_GPUCOLLECTIVE_H
#define ZEROGRAPH_RUNTIME_COMM_CUDA_GPUCOLLECTIVE_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/ControlPlane.h"
#include "runtime/comm/cuda/QueueOrder.h"
#include "runtime/device/cuda/CudaModule.h"

#include <map>
#include <mutex>
#include <utility>

namespace zerograph {

/// What a rank shows the others of a collective: where its accesses lie, and
/// when what it gives is there and what it takes is taken.
struct GpuShown {
  std::vector<CUdeviceptr> addresses;
  CUevent ready = nullptr, done = nullptr;
};

/// What the ranks of a process share: of each collective, by program and
/// sequence number, what each rank shows.
struct GpuGroup {
  GpuGroup(const CudaModule &module, size_t world)
      : module(module), world(world) {}
  ~GpuGroup();

  /// A collective's, of all ranks; from any thread. It stays where it is.
  std::vector<GpuShown> &shownOf(const CollectiveSite &site);
  /// An event that lives as long as the group.
  absl::Status makeEvent(CUevent &event);

  const CudaModule &module;
  const size_t world;

private:
  std::mutex mutex;
  std::map<std::pair<std::string, uint32_t>, std::vector<GpuShown>> shown;
  std::vector<CUevent> events;
};

/// Where a rank stands: used by the thread that issues its programs.
struct GpuRank {
  unsigned rank = 0;
  /// Of collectives that are complete on all ranks.
  QueueOrder order;
  TrafficCount count;
};

/// All outlive the operation.
absl::StatusOr<std::unique_ptr<Operation>>
bindGpuCollective(GpuGroup &group, ControlPlane &control, GpuRank &rank,
                  const plan::Step &step, CollectiveSite site,
                  const std::vector<DeviceRange> &ranges);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_CUDA_GPUCOLLECTIVE_H
