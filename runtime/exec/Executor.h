//===- Executor.h - one rank's bound plan ---------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_EXECUTOR_H
#define ZEROGRAPH_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/comm/Collectives.h"
#include "runtime/exec/Trace.h"
#include "runtime/state/Layout.h"

#include <array>
#include <deque>
#include <optional>

namespace zerograph {

/// The arenas and streams of one rank, with every step of every program bound
/// to addresses, kernels and library primitives. Running a program allocates
/// nothing.
class Executor {
public:
  /// `plan` is verified; it, `module` and `collectives` outlive the executor.
  /// `threads`: of the compute stream.
  static absl::StatusOr<std::unique_ptr<Executor>>
  create(const plan::Plan &plan, const KernelModule &module,
         Collectives &collectives, std::unique_ptr<Device> device,
         unsigned threads);

  /// Runs a program to its end. An error names the program and the step; the
  /// other ranks are told. Other ranks may still read this one's memory after
  /// an error: keep the executor until all have returned.
  absl::Status run(unsigned program);

  /// From now on `run` notes when each step is worked on.
  void recordTimes();
  /// Of the last run of each program; empty where nothing was recorded.
  StepTimes times() const;

  const RankMemory &memory() const { return memory_; }
  const std::vector<std::unique_ptr<Arena>> &arenas() const { return arenas_; }

private:
  static constexpr unsigned kStreams = 8; // by plan::Stream's values
  struct BoundProgram {
    std::array<StreamProgram, kStreams> streams;
    /// One an entry, or none.
    std::array<std::vector<EntryTime>, kStreams> times;
  };

  Executor(const plan::Plan &plan, Collectives &collectives,
           std::unique_ptr<Device> device)
      : plan(plan), collectives(collectives), device(std::move(device)) {}

  absl::Status allocate();
  absl::Status bindProgram(const KernelModule &module, unsigned threads,
                           const plan::Program &program);
  absl::StatusOr<std::unique_ptr<Operation>>
  bindStep(Stream &stream, const KernelModule &module, const plan::Step &step,
           const CollectiveSite *site);
  absl::StatusOr<std::unique_ptr<Operation>>
  bindCollective(Stream &stream, const plan::Step &step,
                 const CollectiveSite &site);
  std::byte *address(const plan::Access &access) const;

  const plan::Plan &plan;
  Collectives &collectives;
  std::unique_ptr<Device> device;
  std::vector<std::unique_ptr<Arena>> arenas_;
  RankMemory memory_;
  std::deque<CollectiveSite> sites;
  std::vector<BoundProgram> programs;
  // Last: their threads use the rest.
  std::array<std::unique_ptr<Stream>, kStreams> streams;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_EXECUTOR_H
