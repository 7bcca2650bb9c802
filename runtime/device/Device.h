//===- Device.h - what the executor asks of a device ----------------------===//
//
// A device belongs to one rank. Everything a step needs is bound when the plan
// is loaded: `Stream` makes operations, a program is a list of them per stream,
// and running a program only starts those lists. On the host a stream is a
// thread; on an accelerator it would be a queue, and a wait an event.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_DEVICE_H
#define ZEROGRAPH_RUNTIME_DEVICE_DEVICE_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zerograph {

/// Memory of one arena of the plan, allocated once.
class Arena {
public:
  virtual ~Arena() = default;
  virtual std::byte *data() const = 0;
  virtual uint64_t bytes() const = 0;
  /// End of the highest byte that was written since allocation: 0 if none.
  /// A byte written with the value of the fill pattern does not count.
  virtual uint64_t touchedEnd() const = 0;
};

/// The generated code of a plan; shared by the ranks of a process.
class KernelModule {
public:
  virtual ~KernelModule() = default;
};

/// One entry of a stream with all its addresses; made and kept by a Stream.
class Operation {
public:
  virtual ~Operation() = default;
  /// Does the work, or hands it to the device, in stream order.
  virtual absl::Status issue() = 0;
};

/// `position` entries of `stream` are done.
struct Timepoint {
  unsigned stream = 0;
  uint32_t position = 0;
};

/// An entry of a stream in a program.
struct StreamEntry {
  std::unique_ptr<Operation> operation;
  std::vector<Timepoint> waits;
  uint32_t step = 0; // of the program, for messages
};

/// The entries of one program on one stream, in order.
using StreamProgram = std::vector<StreamEntry>;

/// When an entry was worked on, after its waits: nanoseconds of the steady
/// clock.
struct EntryTime {
  int64_t begin = 0, end = 0;
};

/// Entries in order; streams are ordered among each other by waits alone.
class Stream {
public:
  virtual ~Stream() = default;

  /// Kernel `index` of `module` over its whole extent; `buffers` in the order
  /// of the step's accesses.
  virtual absl::StatusOr<std::unique_ptr<Operation>>
  launch(const KernelModule &module, const plan::Kernel &kernel, unsigned index,
         absl::Span<void *const> buffers) = 0;
  /// `buffers`: A, B, C, scratch (null where no part needs any).
  virtual absl::StatusOr<std::unique_ptr<Operation>>
  matmul(const plan::Matmul &matmul, absl::Span<void *const> buffers,
         uint64_t scratch_bytes) = 0;
  /// `buffers`: what is read, what is written, scratch (or null).
  virtual absl::StatusOr<std::unique_ptr<Operation>>
  convolution(const plan::Convolution &convolution,
              absl::Span<void *const> buffers, uint64_t scratch_bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Operation>>
  copy(const void *source, void *destination, uint64_t bytes) = 0;
  virtual absl::StatusOr<std::unique_ptr<Operation>> fill(void *destination,
                                                          uint64_t bytes) = 0;
  /// A call in stream order: collectives.
  virtual std::unique_ptr<Operation>
  call(std::function<absl::Status()> function) = 0;

  /// Begins a program after Device::beginProgram; `program` outlives it.
  /// `times`: null, or one an entry, filled in until `finish`.
  virtual void start(const StreamProgram &program, EntryTime *times) = 0;
  /// Waits until all entries are done or one failed. After a failure on any
  /// stream the others end with CANCELLED. `failed_step` is set with an error.
  virtual absl::Status finish(uint32_t &failed_step) = 0;
};

/// One rank's device.
class Device {
public:
  virtual ~Device() = default;

  virtual absl::StatusOr<std::unique_ptr<Arena>>
  allocate(uint64_t bytes, uint64_t alignment) = 0;
  /// The stream of a kind; `index` is its place in Timepoint. `workers`: how
  /// many threads share one operation, this stream's own included.
  virtual std::unique_ptr<Stream>
  makeStream(unsigned index, const std::string &name, unsigned workers) = 0;
  /// Sets every stream's position to 0. All streams are idle.
  virtual void beginProgram() = 0;
  /// Called once when a stream of this device fails, from its thread: ends
  /// what other streams may be waiting for outside of the device.
  virtual void
  onFailure(std::function<void(const absl::Status &)> callback) = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_DEVICE_H
