//===- Trace.h - when each step of a run was worked on --------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_TRACE_H
#define ZEROGRAPH_RUNTIME_EXEC_TRACE_H

#include "runtime/device/Device.h"

#include <cstdio>
#include <string>
#include <vector>

namespace zerograph {

/// Maps, for one rank, program -> step -> when it was last worked on; a program
/// that did not run has no steps.
using StepTimes = std::vector<std::vector<StepTime>>;

/// A file in the Trace Event Format, which Perfetto and chrome://tracing draw:
/// a process per rank, a thread per stream, an event per step. Steps that ran
/// beside others of their stream are in threads "STREAM, beside 1". Where a
/// collective waits for other ranks, that is an event of its own, of the
/// category "wait"; of a GPU's collectives it cannot be told apart, and their
/// events say so. A stream that waits for another has no event then; an arrow
/// goes from the step that it waits for. A counter has the bytes of the device
/// that hold something.
class TraceFile {
public:
  /// Creates the file, empty until `write`.
  static absl::StatusOr<std::unique_ptr<TraceFile>>
  open(const std::string &path);
  ~TraceFile();

  /// Writes the last run of every program, by rank. Called once.
  absl::Status write(const plan::Plan &plan,
                     const std::vector<StepTimes> &ranks);

private:
  TraceFile() = default;

  std::string path;
  std::FILE *file = nullptr;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_TRACE_H
