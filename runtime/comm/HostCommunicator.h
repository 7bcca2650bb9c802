//===- HostCommunicator.h - collectives that the processor works on -------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_HOSTCOMMUNICATOR_H
#define ZEROGRAPH_RUNTIME_COMM_HOSTCOMMUNICATOR_H

#include "runtime/comm/CollectiveOrder.h"
#include "runtime/comm/Collectives.h"
#include "runtime/comm/ControlPlane.h"
#include "runtime/plan/Describe.h"

#include <chrono>
#include <functional>

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

/// Bytes for or from another rank; none for zero bytes.
struct Message {
  unsigned peer = 0;
  std::byte *data = nullptr; // only read where it is sent
  uint64_t bytes = 0;
};

/// One rank's end of a transport for data and control, whose collectives block
/// the thread of their stream and address the buffers themselves: those of the
/// host device. Collectives are written here, once for all such transports,
/// which exchange messages. What uses one of its planes alone takes that: other
/// transports are one of the two.
class HostCommunicator : public Collectives, public ControlPlane {
public:
  unsigned world() const override = 0;
  unsigned rank() const override = 0;
  /// Tells both planes of one failure.
  void abort(const absl::Status &status) override = 0;

  absl::StatusOr<std::unique_ptr<Operation>>
  bind(const plan::Step &step, CollectiveSite site,
       absl::Span<const unsigned> group,
       std::vector<DeviceRange> ranges) override;

  absl::Status allGather(const CollectiveSite &site,
                         absl::Span<const GatherSegment> segments);
  absl::Status reduceScatter(const CollectiveSite &site,
                             const ReduceScatterCall &call);
  absl::Status allReduce(const CollectiveSite &site, plan::ElementType type,
                         absl::Span<const ReduceArray> arrays);

  void beginProgram() override { order.restart(); }
  TrafficCount traffic() const override { return count; }

  /// Returns when the last call that was bound under this number, which has
  /// returned, did not wait for other ranks.
  WorkTime workTime(uint32_t sequence) const { return work[sequence]; }

protected:
  using Clock = std::chrono::steady_clock;
  /// Called by each rank as it enters a collective, for tests that delay some.
  using OnEnter = std::function<void(unsigned rank, const CollectiveSite &)>;

  HostCommunicator(OnEnter on_enter) : on_enter(std::move(on_enter)) {}

  /// Exchanges messages with the other ranks, which all call it at this site;
  /// what one rank sends another stands in the same order in both their lists.
  /// Returns once all has come: when the other ranks were there.
  virtual absl::StatusOr<Clock::time_point>
  transfer(const CollectiveSite &site, const char *what,
           absl::Span<const Message> receives,
           absl::Span<const Message> sends) = 0;
  /// Waits until no rank reads any more what this one has sent.
  virtual absl::Status awaitReaders(const CollectiveSite &site,
                                    const char *what) = 0;
  /// Returns the error of a rank whose turn did not come at `where`.
  virtual absl::Status lostTurn(const absl::Status &turn,
                                const std::string &where) = 0;

  /// Calls `body(i-th peer)`, every rank beginning with another one.
  template <typename Body>
  void forPeers(const Body &body) const {
    for (unsigned i = 1; i < world(); ++i) {
      body((rank() + i) % world());
    }
  }

  CollectiveOrder order;

private:
  /// Waits for this rank's turn.
  absl::Status enter(const CollectiveSite &site, const char *what);
  /// Exchanges `receives` and `sends`. The `first` exchange of a call ends its
  /// wait for the other ranks.
  absl::Status transfer(const CollectiveSite &site, const char *what,
                        bool first = true);
  /// Passes the turn to the next collective.
  absl::Status leave(const CollectiveSite &site, const char *what);

  OnEnter on_enter;
  TrafficCount count;
  /// Keeps the times of each call by its sequence number: the next call may
  /// begin while one is asked for.
  std::vector<WorkTime> work;
  // The messages of one collective at a time; they keep their space.
  std::vector<Message> receives, sends;
  std::vector<const std::byte *> contributions; // by rank, for folds
  std::vector<std::byte> received;              // of an all_reduce
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_HOSTCOMMUNICATOR_H
