//===- HostCommunicator.h - collectives that the processor works on -------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_HOSTCOMMUNICATOR_H
#define ZEROGRAPH_RUNTIME_COMM_HOSTCOMMUNICATOR_H

#include "runtime/comm/Communicator.h"
#include "runtime/plan/Describe.h"

#include <chrono>

namespace zerograph {

/// One segment of an all_gather.
struct GatherSegment {
  const std::byte *shard = nullptr; // this rank's, may be in its place
  std::byte *whole = nullptr;       // world * shard_bytes
  uint64_t shard_bytes = 0;
};

/// A reduce_scatter of one segment.
struct ReduceScatterCall {
  plan::ElementType wire = plan::F32; // of contributions
  plan::ElementType type = plan::F32; // of the shard
  const std::byte *whole = nullptr;   // world * shard_bytes, this rank's
  std::byte *shard = nullptr;
  std::byte *staging = nullptr; // world * chunk_bytes
  /// The bytes of contributions that are a rank's shard of the whole, and those
  /// that travel at once.
  uint64_t shard_bytes = 0;
  uint64_t chunk_bytes = 0;
  bool accumulate = false;

  /// Returns how many elements so many bytes of contributions have.
  uint64_t elements(uint64_t bytes) const { return bytes / elementSize(wire); }
  /// Returns where the sum lies of what is at byte `begin` of contributions.
  std::byte *sumAt(uint64_t begin) const {
    return shard + elements(begin) * elementSize(type);
  }
};

/// One array of an all_reduce: sum <- ((sum + v_0) + v_1) + ...
struct ReduceArray {
  const std::byte *values = nullptr; // this rank's
  std::byte *sum = nullptr;          // no part of any rank's values
  uint64_t bytes = 0;
};

/// A transport whose collectives block the thread of their stream and address
/// the buffers themselves: those of the host device.
class HostCommunicator : public Communicator {
public:
  absl::StatusOr<std::unique_ptr<Operation>>
  bind(const plan::Step &step, CollectiveSite site,
       absl::Span<const unsigned> group,
       std::vector<DeviceRange> ranges) override;

  virtual absl::Status allGather(const CollectiveSite &site,
                                 absl::Span<const GatherSegment> segments) = 0;
  virtual absl::Status reduceScatter(const CollectiveSite &site,
                                     const ReduceScatterCall &call) = 0;
  virtual absl::Status allReduce(const CollectiveSite &site,
                                 plan::ElementType type,
                                 absl::Span<const ReduceArray> arrays) = 0;

  /// Returns when the last call that was bound under this number, which has
  /// returned, did not wait for other ranks.
  WorkTime workTime(uint32_t sequence) const { return work[sequence]; }

protected:
  using Clock = std::chrono::steady_clock;
  /// Note that the other ranks had come, and that the call was done with them.
  /// Each number has its own times: the next call may begin while one is asked
  /// for.
  void noteBegin(const CollectiveSite &site, Clock::time_point time);
  void noteEnd(const CollectiveSite &site, Clock::time_point time);

private:
  std::vector<WorkTime> work; // by sequence number
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_HOSTCOMMUNICATOR_H
