//===- Driver.h - what this machine has of a kind of device ---------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_DRIVER_H
#define ZEROGRAPH_RUNTIME_DEVICE_DRIVER_H

#include "runtime/device/Device.h"
#include "runtime/device/FileSupport.h"

#include <chrono>

namespace zerograph {

/// The part of a program that a device with queues records once, to enqueue it
/// at once.
enum class Graphs {
  Off,
  Compute, // steps of one stream between which no other stream waits
  All,     // whole programs, with NCCL's collectives, of a process a rank
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

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_DRIVER_H
