//===- Device.h - what runs the steps of a plan ---------------------------===//
//
// A device belongs to one rank. Nobody else dereferences its memory: the rest
// of the runtime holds ranges of buffers, and writes, reads and fills them.
// Everything that a step needs is bound when the plan is loaded; running a
// program only issues what is bound, and allocates nothing.
//
// A program is one list of steps in issue order. A device whose streams are
// threads (the host) splits the list, and streams wait for each other's
// positions. A device whose streams are queues (an accelerator) issues the list
// from one thread, from front to back: as a step waits for earlier ones alone,
// every event is recorded before it is awaited.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_DEVICE_H
#define ZEROGRAPH_RUNTIME_DEVICE_DEVICE_H

#include "runtime/device/Buffer.h"
#include "runtime/device/Operation.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// Machine code of a plan, opened; shared by the ranks of a process.
class Module {
public:
  virtual ~Module() = default;

  /// Returns what was chosen on this machine and decides bits, as a library's
  /// version and its algorithms: the same on every rank, or the run is refused.
  /// Empty where the plan decides everything.
  virtual std::string choices() const { return {}; }
};

/// A stream of the plan: an order among the steps that name it.
struct StreamBinding {
  std::string name;
  /// True if its steps are shared by all threads that the device has for a
  /// rank; else one works on each.
  bool computes = false;
};

/// Bytes of each counter between devices: a cache line.
inline constexpr uint64_t kCounterBytes = 64;

/// `value` steps of another device's stream are done; `counter` is its place
/// in ProgramBinding::counters.
struct Timepoint {
  unsigned counter = 0;
  uint32_t value = 0;
};

/// One step to bind.
struct StepBinding {
  /// The step to do; outlives the program.
  const plan::Step *step = nullptr;
  /// Its place in the plan's program, for messages.
  uint32_t number = 0;
  /// Its accesses on this rank, in their order.
  std::vector<DeviceRange> ranges;
  /// An index of ProgramBinding::streams.
  unsigned stream = 0;
  /// Steps before it in this list that must be done, by their places in it.
  std::vector<uint32_t> waits;
  /// Instead of what `step` says, where that is no business of the device: a
  /// collective, as Collectives have bound it. A device with threads for
  /// streams calls it on the stream's thread, where it may block.
  std::unique_ptr<Operation> operation;
  /// The points that it awaits of the rank's other devices, and the one that it
  /// tells them when all that it writes is there.
  std::vector<Timepoint> awaits;
  std::optional<Timepoint> publishes;
  /// The place, for a copy, where the bytes that it has moved are added up;
  /// null where nobody asks.
  std::atomic<uint64_t> *moved = nullptr;
};

/// The steps of one program that run on one device.
struct ProgramBinding {
  std::string name;
  std::vector<StreamBinding> streams;
  std::vector<StepBinding> steps; // in issue order
  const Module *module = nullptr; // outlives the program
  /// Counters between devices, in memory that all of them see: 64 bytes each,
  /// the first 4 of them a count of finished steps. Who starts the program's
  /// parts zeroes them before, when all of them have finished.
  DeviceRange counters;
};

/// The time when a step was worked on, after it had what it awaits of other
/// streams: nanoseconds of the steady clock. For a collective it includes the
/// waiting for other ranks; `work` tells that apart, where the device can.
struct StepTime {
  int64_t begin = 0, end = 0;
  WorkTime work = {};
};

/// Bytes that a rank's device, host and file have given each other.
struct HostTraffic {
  uint64_t down = 0;    // to the host
  uint64_t up = 0;      // to the device
  uint64_t read = 0;    // from the file to the host
  uint64_t written = 0; // and back
};

/// A function to call after a step, by its place in the list that was bound.
using StepCallback = std::function<absl::Status(uint32_t place)>;

/// A program with everything that running it needs. One program of a device
/// runs at a time.
class BoundProgram {
public:
  virtual ~BoundProgram() = default;

  /// Before each run, of all parts of the rank's program before any is started:
  /// from then on a `cancel` counts.
  virtual void prepare() = 0;
  /// Begins a run, which reads this one of the program's slots. Returns when
  /// everything is issued, or at once.
  virtual void start(unsigned slot) = 0;
  /// Waits until all steps are done, or one failed. After a failure of another
  /// step, or `cancel`, it is CANCELLED. `failed` is then the step's number.
  virtual absl::Status finish(uint32_t &failed) = 0;
  /// From any thread, for a run that may wait for what will not come: another
  /// device of the rank has failed.
  virtual void cancel() = 0;

  /// Drops what was recorded with collectives in it, which keeps them from
  /// ending. No run begins any more; one that goes on does.
  virtual void dropRecords() {}

  /// From now on runs note when each step is worked on; of an accelerator,
  /// where nothing is enqueued as graphs.
  virtual void recordTimes() = 0;
  /// Returns the times of the last run, one a step of the list; empty where
  /// nothing is recorded.
  virtual std::vector<StepTime> times() const = 0;

  /// From now on `callback` is called after each step, when all that it writes
  /// is there and before a step that waits for it begins; from the thread of
  /// its stream. Its error is the step's. Of an accelerator, where nothing is
  /// enqueued as graphs.
  virtual void afterSteps(StepCallback callback) = 0;
};

using FailureCallback =
    std::function<void(const absl::Status &status, uint32_t step)>;

/// One rank's device. Its programs and buffers are destroyed before it.
class Device {
public:
  virtual ~Device() = default;

  /// Memory at a multiple of `alignment`; an error where the device has none
  /// of `space`.
  virtual absl::StatusOr<std::unique_ptr<Buffer>>
  allocate(plan::Space space, uint64_t bytes, uint64_t alignment) = 0;

  /// Makes the streams that the program names, unless an earlier one did, and
  /// binds every step. An error names the step.
  virtual absl::StatusOr<std::unique_ptr<BoundProgram>>
  bind(ProgramBinding program) = 0;

  /// Called once for a run that fails, from any thread, with the number of the
  /// step: ends what its streams may be waiting for outside of the device.
  virtual void onFailure(FailureCallback callback) = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_DEVICE_H
