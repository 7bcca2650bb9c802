//===- Communicator.h - what the ranks of a run do together ---------------===//
//
// A communicator belongs to one rank. Collectives of a program run in the one
// order that the plan gives them, whatever the stream; every wait for another
// rank has a deadline, past which the error says who waits for whom; a rank
// that fails ends all of them. After an error other ranks may still read the
// buffers of a call: they outlive all ranks' calls.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_COMMUNICATOR_H
#define ZEROGRAPH_RUNTIME_COMM_COMMUNICATOR_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include "absl/types/span.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zerograph {

/// Longer deadlines are as good as this one, eleven days, and would overflow
/// clocks.
constexpr std::chrono::duration<double> kLongestDeadline(1e6);

/// Where in the plan a collective stands. It outlives the call.
struct CollectiveSite {
  std::string program;
  std::string step;      // name and index
  std::string tensor;    // the slice it is about
  uint32_t sequence = 0; // from 0, without gaps in a program
};

/// "all_gather 3 'unit 1' of program "step" (tensor, sequence 0)".
std::string describe(const CollectiveSite &site, const char *what);

/// One segment of an all_gather.
struct GatherSegment {
  const std::byte *shard = nullptr; // this rank's, may be in its place
  std::byte *whole = nullptr;       // world * shard_bytes
  uint64_t shard_bytes = 0;
};

/// A reduce_scatter of one segment.
struct ReduceScatterCall {
  plan::ElementType type = plan::F32; // F32 or F64
  const std::byte *whole = nullptr;   // world * shard_bytes, this rank's
  std::byte *shard = nullptr;
  std::byte *staging = nullptr; // world * chunk_bytes
  uint64_t shard_bytes = 0;
  uint64_t chunk_bytes = 0;
  bool accumulate = false;
};

/// One array of an all_reduce: sum <- ((sum + v_0) + v_1) + ...
struct ReduceArray {
  const std::byte *values = nullptr; // this rank's
  std::byte *sum = nullptr;          // no part of any rank's values
  uint64_t bytes = 0;
};

/// Bytes that this rank received from other ranks.
struct TrafficCount {
  uint64_t gather = 0;
  uint64_t reduce = 0;
  uint64_t scalar = 0;
};

class Communicator {
public:
  virtual ~Communicator() = default;

  virtual unsigned world() const = 0;
  virtual unsigned rank() const = 0;

  /// Sequence numbers begin anew. No collective is running on this rank.
  virtual void beginProgram() = 0;

  virtual absl::Status allGather(const CollectiveSite &site,
                                 absl::Span<const GatherSegment> segments) = 0;
  virtual absl::Status reduceScatter(const CollectiveSite &site,
                                     const ReduceScatterCall &call) = 0;
  virtual absl::Status allReduce(const CollectiveSite &site,
                                 plan::ElementType type,
                                 absl::Span<const ReduceArray> arrays) = 0;

  /// Waits for all ranks; outside of programs. `what` is for messages.
  virtual absl::Status barrier(const std::string &what) = 0;
  /// Every rank's text, in rank order; outside of programs.
  virtual absl::StatusOr<std::vector<std::string>>
  exchange(const std::string &what, const std::string &text) = 0;
  /// The same for rank 0 alone; the others get nothing.
  virtual absl::StatusOr<std::vector<std::string>>
  collect(const std::string &what, const std::string &text) = 0;

  /// Whether ranks are in one process: what one opened, all can use.
  virtual bool inOneProcess() const = 0;
  /// While true this rank does something that no plan bounds, as compiling or
  /// putting a file on the disk: others that wait for it outside of programs
  /// do so as long as its process is alive. Nothing for ranks that are
  /// threads, which do such things before they begin or after they met.
  virtual void setBusy(bool busy) {}

  /// This rank failed: every wait of every rank ends with an error that
  /// carries this one. The first call counts. To be called after any error:
  /// another stream of this rank may wait for its turn without a deadline.
  virtual void abort(const absl::Status &status) = 0;

  virtual TrafficCount traffic() const = 0;
};

/// An error on every rank unless all of them hold the same plan; it names the
/// ranks that differ from rank 0 and the hashes.
absl::Status compareHashes(Communicator &communicator,
                           const std::string &hash_hex);

/// An error on every rank where any has one before the run: rank 0's says what
/// failed where, the others' is Cancelled, to be passed on and not to be said.
absl::Status agree(Communicator &communicator, const std::string &what,
                   const absl::Status &own);

/// An error, as those of `agree`, unless every rank has the same values by the
/// same names.
absl::Status compareSettings(Communicator &communicator,
                             const std::map<std::string, std::string> &values);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_COMMUNICATOR_H
