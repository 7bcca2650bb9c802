//===- Collectives.h - data that ranks exchange in a program --------------===//
//
// The data plane of one rank. Collectives of a program run in the one order
// that the plan gives them, whatever the stream; every wait for another rank
// has a deadline, past which the error says who waits for whom. After an error
// other ranks may still read the buffers of a call: they outlive all ranks'
// calls.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_COLLECTIVES_H
#define ZEROGRAPH_RUNTIME_COMM_COLLECTIVES_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace zerograph {

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

class Collectives {
public:
  virtual ~Collectives() = default;

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

  /// This rank failed: every collective of it ends with an error that carries
  /// this one. The first call counts. To be called after any error: another
  /// stream of this rank may wait for the collective before its own without a
  /// deadline.
  virtual void abort(const absl::Status &status) = 0;

  virtual TrafficCount traffic() const = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_COLLECTIVES_H
