//===- Driver.h - what this machine has of a kind of device ---------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_DRIVER_H
#define ZEROGRAPH_RUNTIME_DEVICE_DRIVER_H

#include "runtime/device/Device.h"

#include <chrono>

namespace zerograph {

/// The part of a program that a device with queues records once, to enqueue it
/// at once.
enum class Graphs {
  Off,
  Compute, // steps of one stream between which no other stream waits
  All,     // whole programs, with NCCL's collectives, of a process a rank
};

/// Options of arenas that are files.
struct FileOptions {
  std::string folder;
  uint64_t block_bytes = 1 << 20; // of a request at most; whole pages
  unsigned depth = 8;             // requests under way at once
  /// True if io_uring is tried first. Threads read and write elsewhere.
  bool uring = true;
};

struct DeviceOptions {
  /// Names threads; chooses among several accelerators.
  unsigned rank = 0;
  /// Threads that share a step of a stream that computes.
  unsigned threads = 1;
  /// The part that an accelerator records.
  Graphs graphs = Graphs::Compute;
  /// The longest that an accelerator may go without finishing a step.
  std::chrono::duration<double> deadline = std::chrono::seconds(300);
  FileOptions files = {};
  /// Ranks of this process, each with as many threads; and processes, each with
  /// as many ranks, that share its processors.
  unsigned ranks = 1, processes = 1;
};

/// Choices for how a plan is opened.
struct LoadOptions {
  /// File with the algorithms that the device's library multiplies by: read or,
  /// where there is none, written. Empty: the library chooses.
  std::string algorithms;
};

/// Bytes that are to be allocated: of an accelerator's memory, where there is
/// one, and of the machine's.
struct MemoryNeed {
  uint64_t device = 0, pinned = 0;
};

/// Opened once a process, shared by its ranks; thread-safe.
class Driver {
public:
  virtual ~Driver() = default;

  /// Opens the plan's machine code, which is run: open only plans that are
  /// trusted. An error names what is missing in it, or on this machine.
  virtual absl::StatusOr<std::unique_ptr<Module>>
  load(const plan::Plan &plan, const LoadOptions &options) = 0;

  /// The device of one rank. The driver outlives it.
  virtual absl::StatusOr<std::unique_ptr<Device>>
  createDevice(const DeviceOptions &options) = 0;

  /// Refuses what there is no memory for.
  virtual absl::Status checkMemory(const MemoryNeed &need) const = 0;
  /// Refuses so many streams of an accelerator, of all ranks on it, of which
  /// some wait for the host.
  virtual absl::Status checkStreams(unsigned streams) const {
    return absl::OkStatus();
  }

  /// A name that all processes give the accelerator that this one does, and
  /// none another; empty where the device is the processor.
  virtual absl::StatusOr<std::string> accelerator() const {
    return std::string();
  }
  /// Returns what it calls itself, "NVIDIA H200"; empty where it is the
  /// processor.
  virtual absl::StatusOr<std::string> model() const { return std::string(); }

  /// Bytes of the accelerator's own memory that are in use, by other processes
  /// too; nothing where the device is the processor.
  virtual absl::StatusOr<std::optional<uint64_t>> memoryInUse() const {
    return std::nullopt;
  }
};

/// The driver of the device that a plan was made for; an error that lists all
/// that this machine lacks. `number`: which one, of several accelerators.
absl::StatusOr<std::unique_ptr<Driver>> openDriver(const plan::Target &target,
                                                   unsigned number = 0);

/// The support that a folder has for files of ranks.
struct FileSupport {
  std::string filesystem; // "ext4"; empty: of no known name
  uint64_t free = 0;      // bytes
  bool direct = false;    // O_DIRECT
  bool uring = false;     // io_uring
};

/// Looks at the folder, and tries a file there. An error says why none can be
/// made.
absl::StatusOr<FileSupport> probeFolder(const std::string &folder);

/// Returns whether an accelerator of this process did not come back. Then what
/// runs when a process exits may wait for it for ever: end by std::_Exit.
bool lostAccelerator();

/// The accelerators of a device's kind that this process may use, at least one:
/// a name each, which other processes have for the same one too. One without a
/// name where the device is none. An error says what is missing.
absl::StatusOr<std::vector<std::string>>
listAccelerators(const plan::Target &target);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_DRIVER_H
