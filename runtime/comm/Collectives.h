//===- Collectives.h - data that ranks exchange in a program --------------===//
//
// The data plane of one rank. A collective is bound when the plan is loaded and
// issued on its stream, as every operation is. Collectives of a program run in
// the one order that the plan gives them, whatever the stream; every wait for
// another rank has a deadline, past which the error says who waits for whom.
// After an error other ranks may still read the buffers of a call: they outlive
// all ranks' runs.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_COLLECTIVES_H
#define ZEROGRAPH_RUNTIME_COMM_COLLECTIVES_H

#include "runtime/device/Buffer.h"
#include "runtime/device/Operation.h"

#include "absl/types/span.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zerograph {

/// The place of a collective in the plan.
struct CollectiveSite {
  std::string program;
  std::string step;      // name and index
  std::string tensor;    // the slice it is about
  uint32_t sequence = 0; // from 0, without gaps in a program
  uint32_t number = 0;   // of the program, among all that are bound
};

/// Returns "all_gather 3 'unit 1' of program "step" (tensor, sequence 0)".
std::string describe(const CollectiveSite &site, const char *what);

/// Refuses a collective of some of the ranks, which is not built.
absl::Status needAllRanks(absl::Span<const unsigned> group, unsigned world);

/// Refuses a reduction that the plan leaves to a library, which is not what
/// ranks on `where` exchange by.
absl::Status needRankOrder(const plan::ReduceScatter &reduce,
                           const char *where);

/// Returns where a shard has the sum of what is at byte `begin` of a rank's
/// part.
uint64_t sumOffset(const plan::ReduceScatter &reduce, uint64_t begin);

/// Returns the bytes of the first access of each pair, for a step whose
/// accesses are pairs, and perhaps one more. An error where there is no pair.
absl::StatusOr<std::vector<uint64_t>>
bytesOfPairs(const plan::Step &step, const std::vector<DeviceRange> &ranges);

/// Options of the collectives between accelerators.
struct ExchangeOptions {
  /// The longest that their library may take for a call. How long streams may
  /// wait for other ranks is the device's.
  std::chrono::duration<double> deadline = std::chrono::seconds(300);
  /// Called with what the user should know; may be null.
  std::function<void(const std::string &)> say;
};

/// Counts bytes that this rank received from other ranks.
struct TrafficCount {
  uint64_t gather = 0;
  uint64_t reduce = 0;
  uint64_t scalar = 0;
};

class Collectives {
public:
  virtual ~Collectives() = default;

  virtual unsigned world() const = 0;
  virtual unsigned rank() const = 0;

  /// Meets the other ranks, each of which calls it on its own thread or
  /// process, and allocates what it needs on the device, so that what is left
  /// is known before arenas are. `bind` does it where nobody has.
  virtual absl::Status open() { return absl::OkStatus(); }

  /// Begins sequence numbers anew. No collective is running on this rank.
  virtual void beginProgram() {}

  /// Returns the operation of a step that is a collective among the ranks of
  /// `group`, given in its order: an AllGather, ReduceScatter or AllReduce as
  /// the plan describes it. `ranges` are the step's accesses on this rank.
  /// Issued, it runs after those before it in the plan's order; it may block
  /// the thread where a stream is one. This object outlives it.
  virtual absl::StatusOr<std::unique_ptr<Operation>>
  bind(const plan::Step &step, CollectiveSite site,
       absl::Span<const unsigned> group, std::vector<DeviceRange> ranges) = 0;

  /// Ends every collective of this rank, which has failed, with an error that
  /// carries this one. The first call counts. It is to be called after any
  /// error: another stream of this rank may wait for the collective before its
  /// own without a deadline.
  virtual void abort(const absl::Status &status) = 0;

  /// Ends the exchange after the last program, on all ranks, while their memory
  /// is still there. Without it, and after an error, what ranks share ends
  /// where it is.
  virtual absl::Status close() { return absl::OkStatus(); }

  virtual TrafficCount traffic() const = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_COLLECTIVES_H
