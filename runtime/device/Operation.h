//===- Operation.h - what a step does, with everything bound --------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_OPERATION_H
#define ZEROGRAPH_RUNTIME_DEVICE_OPERATION_H

#include "runtime/base/Status.h"

#include <cstdint>

namespace zerograph {

/// The time when an operation that all ranks do together had nothing to wait
/// for from the others: nanoseconds of the steady clock. 0: it cannot tell.
struct WorkTime {
  int64_t begin = 0, end = 0;
};

/// Everything that a run tells a step.
struct Issue {
  /// The device's own handle of the stream (a CUstream); null where the stream
  /// is the thread that issues.
  void *stream = nullptr;
  /// The one of the program's two slots that the run reads.
  unsigned slot = 0;
  /// The place where an operation that waits for other ranks says when it did
  /// not; null where nobody asks.
  WorkTime *work = nullptr;
};

/// Says whether a device may record what an operation enqueues, as a CUDA
/// graph, and enqueue the record in later runs.
enum class Replay {
  Never, // it takes a turn among ranks when it is issued
  Whole, // with all of its program, in a record for each of the slots
  Always,
};

/// A step with its addresses.
class Operation {
public:
  virtual ~Operation() = default;
  /// Does the work, or enqueues it on the stream. Allocates nothing.
  virtual absl::Status issue(const Issue &issue) = 0;

  virtual Replay replay() const { return Replay::Never; }
  /// A device that records calls it once a run, when `issue` or a record of it
  /// has enqueued it: what ranks exchange is counted here.
  virtual void enqueued() {}
  /// While a run waits for what was enqueued: an error of it that the stream
  /// does not tell, as one of the network.
  virtual absl::Status check() { return absl::OkStatus(); }
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_OPERATION_H
