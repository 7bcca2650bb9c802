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

/// The part of a collective that a rank shows the others: where its accesses
/// lie, and when what it gives is there and what it takes is taken.
struct GpuShown {
  std::vector<CUdeviceptr> addresses;
  CUevent ready = nullptr, done = nullptr;
};

/// The state that the ranks of a process share: what each rank shows of each
/// collective, by program and sequence number.
struct GpuGroup {
  GpuGroup(const CudaModule &module, size_t world)
      : module(module), world(world) {}
  ~GpuGroup();

  /// Returns what all ranks show of a collective; from any thread. It stays
  /// where it is.
  std::vector<GpuShown> &shownOf(const CollectiveSite &site);
  /// Makes an event that lives as long as the group.
  absl::Status makeEvent(CUevent &event);

  const CudaModule &module;
  const size_t world;

private:
  std::mutex mutex;
  std::map<std::pair<std::string, uint32_t>, std::vector<GpuShown>> shown;
  std::vector<CUevent> events;
};

/// The state of a rank, used by the thread that issues its programs.
struct GpuRank {
  unsigned rank = 0;
  /// Orders collectives; one is complete when all ranks are done with it.
  QueueOrder order;
  TrafficCount count;
};

/// Binds a collective. All arguments outlive the operation.
absl::StatusOr<std::unique_ptr<Operation>>
bindGpuCollective(GpuGroup &group, ControlPlane &control, GpuRank &rank,
                  const plan::Step &step, CollectiveSite site,
                  const std::vector<DeviceRange> &ranges);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_CUDA_GPUCOLLECTIVE_H
