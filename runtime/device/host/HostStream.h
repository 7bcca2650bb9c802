//===- HostStream.h - a stream that is a thread ---------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTSTREAM_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTSTREAM_H

#include "runtime/device/Device.h"
#include "runtime/device/host/SharedOperation.h"
#include "runtime/device/host/SpareProcessors.h"
#include "runtime/device/host/Timelines.h"

#include <mutex>
#include <thread>

namespace zerograph {

/// A step of the list that was bound.
struct StreamStep {
  std::unique_ptr<Operation> operation;
  SharedOperation *shared = nullptr; // the operation, where it has parts
  uint32_t place = 0;                // in the list
  uint32_t number = 0;               // in the plan's program
};

/// The steps that a stream does at once: a step, or several side by side, all
/// of which have parts.
struct StreamEntry {
  std::vector<StreamStep> steps;
  std::vector<StreamPosition> waits;
  /// Counts of other devices: some to be reached, and one to be set.
  struct Count {
    uint32_t *counter;
    uint32_t value;
  };
  std::vector<Count> awaits;
  std::optional<Count> publishes;
};

/// The entries of one program on one stream, in order.
using StreamProgram = std::vector<StreamEntry>;

/// Runs entries in order on a thread of its own, whose operations a pool of
/// workers shares.
class HostStream {
public:
  /// Place `index` of `timelines`. Throws std::system_error where the system
  /// has no more threads. `here`: the pool's threads, and who has pools beside.
  HostStream(Timelines &timelines, unsigned index, const std::string &name,
             const RanksHere &here);
  ~HostStream();

  WorkerPool &workers() { return pool; }

  /// Begins a program after Timelines::reset; `program` outlives its run, which
  /// reads slot `slot`. `times`: by place in the list that was bound; or null.
  /// `after`: called after each step, in the list's order of those that ran
  /// side by side; or null.
  void start(const StreamProgram &program, unsigned slot, StepTime *times,
             const StepCallback *after);
  /// Waits until all entries are done or one failed. After a failure on any
  /// stream the others end with CANCELLED. `failed`: a step's number.
  absl::Status finish(uint32_t &failed);

private:
  void serve();
  absl::Status runProgram();
  absl::Status await(const StreamEntry &entry);
  absl::Status issue(const StreamEntry &entry);
  absl::Status issueOne(const StreamStep &step);
  absl::Status issueSideBySide(const std::vector<StreamStep> &steps);
  absl::Status passOn(const StreamEntry &entry);

  Timelines &timelines;
  unsigned index;
  WorkerPool pool;
  SpareProcessors spare;
  // Written by the caller before `begun`, read by the thread after it.
  const StreamProgram *program = nullptr;
  unsigned slot = 0;
  StepTime *times = nullptr;
  const StepCallback *after = nullptr;
  std::mutex noting; // times of steps side by side
  // Written by the thread before `ended`.
  absl::Status status;
  uint32_t failed_step = 0;
  std::atomic<uint32_t> begun{0};
  std::atomic<uint32_t> ended{0};
  std::thread thread;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTSTREAM_H
