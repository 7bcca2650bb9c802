//===- Executor.h - one rank's bound plan ---------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_EXECUTOR_H
#define ZEROGRAPH_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/comm/Collectives.h"
#include "runtime/exec/Trace.h"
#include "runtime/state/Layout.h"

namespace zerograph {

/// The arenas of one rank, with every step of every program bound to the
/// device or to collectives. Running a program allocates nothing.
class Executor {
public:
  /// `plan` is verified; it, `module` and `collectives` outlive the executor.
  static absl::StatusOr<std::unique_ptr<Executor>>
  create(const plan::Plan &plan, const Module &module, Collectives &collectives,
         std::unique_ptr<Device> device);

  /// Runs a program to its end. An error names the program and the step, and
  /// ends this rank's collectives. Other ranks may still read this one's memory
  /// after an error: keep the executor until all have returned.
  absl::Status run(unsigned program);

  /// From now on `run` notes when each step is worked on.
  void recordTimes();
  /// Of the last run of each program; empty where nothing was recorded.
  StepTimes times() const;

  const RankMemory &memory() const { return memory_; }
  const std::vector<std::unique_ptr<Buffer>> &arenas() const { return arenas_; }

private:
  Executor(const plan::Plan &plan, Collectives &collectives,
           std::unique_ptr<Device> device)
      : plan(plan), collectives(collectives), device(std::move(device)) {}

  absl::Status allocate();
  absl::Status bindProgram(const Module &module, const plan::Program &program);
  absl::StatusOr<std::unique_ptr<Operation>>
  bindCollective(const plan::Program &program, int step, uint32_t sequence,
                 std::vector<DeviceRange> ranges);

  const plan::Plan &plan;
  Collectives &collectives;
  std::unique_ptr<Device> device;
  std::vector<std::unique_ptr<Buffer>> arenas_;
  RankMemory memory_;
  std::vector<std::unique_ptr<BoundProgram>> programs;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_EXECUTOR_H
