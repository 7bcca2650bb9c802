//===- Executor.h - one rank's bound plan ---------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_EXECUTOR_H
#define ZEROGRAPH_RUNTIME_EXEC_EXECUTOR_H

#include "runtime/comm/Collectives.h"
#include "runtime/exec/Machine.h"
#include "runtime/exec/NonfiniteSearch.h"
#include "runtime/exec/SplitProgram.h"
#include "runtime/exec/Trace.h"
#include "runtime/state/Layout.h"

#include "absl/functional/function_ref.h"

#include <atomic>

namespace zerograph {

/// The arenas of one rank, with every step of every program bound to a device
/// or to collectives. Running a program allocates nothing.
class Executor {
public:
  /// `plan` is verified; it and `collectives` outlive the executor. Arenas have
  /// the bytes that the plan says or, if there are more, those of `room`.
  static absl::StatusOr<std::unique_ptr<Executor>>
  create(const plan::Plan &plan, Collectives &collectives, RankDevices devices,
         absl::Span<const uint64_t> room = {});
  /// Creates one for a plan for one device.
  static absl::StatusOr<std::unique_ptr<Executor>>
  create(const plan::Plan &plan, Collectives &collectives,
         std::unique_ptr<Device> device, const Module &module);

  /// Binds one more plan, verified and for the same devices, to these arenas,
  /// in which it has room: its programs come after those that are bound.
  /// `modules` is what each device has opened of it.
  absl::Status add(const plan::Plan &plan,
                   absl::Span<const Module *const> modules);

  /// Runs a program to its end; it reads this one of its slots. `meanwhile` is
  /// called while it runs. An error names the program and the step, and ends
  /// this rank's collectives. Other ranks may still read this one's memory
  /// after an error: keep the executor until all have returned.
  absl::Status run(
      unsigned program, unsigned slot,
      absl::FunctionRef<void()> meanwhile = [] {});

  /// Ends the collectives, after the last run, on all ranks. Arenas are still
  /// there.
  absl::Status close();
  /// Ends this rank's collectives, and the other ranks: this one failed.
  void abort(const absl::Status &status);

  /// Makes `run` note, from now on, when each step is worked on.
  void recordTimes();
  /// Returns the times of the last run of each program of the first plan; empty
  /// where nothing was recorded.
  StepTimes times() const;

  /// Makes `run` look, from now on, at all that steps write: slow.
  void searchNonfinite();
  /// Returns the origin that the last run of a program found.
  std::optional<NonfiniteOrigin> nonfiniteOrigin(unsigned program) const {
    return programs[program].search->origin(programs[program].number);
  }

  /// Returns the bytes that the device, the host and the file have given each
  /// other.
  HostTraffic crossed() const {
    return {moved[0], moved[1], moved[2], moved[3]};
  }

  const RankMemory &memory() const { return memory_; }
  const std::vector<std::unique_ptr<Buffer>> &arenas() const { return arenas_; }

private:
  /// A program on one device.
  struct Part {
    std::unique_ptr<BoundProgram> program;
    std::vector<uint32_t> numbers; // of its steps
  };
  struct Bound {
    const plan::Plan *plan = nullptr;
    unsigned number = 0; // among the plan's programs
    NonfiniteSearch *search = nullptr;
    std::vector<Part> parts;
    bool counts = false; // parts await each other
    void cancel();
  };

  Executor(const plan::Plan &plan, Collectives &collectives,
           RankDevices devices)
      : plan(plan), collectives(collectives), devices(std::move(devices)) {}

  absl::Status allocate(absl::Span<const uint64_t> room);
  void dropRecords();
  absl::Status bindProgram(const plan::Plan &plan, unsigned number,
                           absl::Span<const Module *const> modules);
  absl::StatusOr<Part> bindPart(const plan::Plan &plan,
                                const plan::Program &program, ProgramPart part,
                                absl::Span<const Module *const> modules);
  absl::Status bindCollective(const plan::Plan &plan,
                              const plan::Program &program, uint32_t sequence,
                              StepBinding &step);
  void onFailure(const absl::Status &status, uint32_t step);
  /// Returns the error of a step of a program, with their names.
  absl::Status named(const absl::Status &status, const Bound &bound,
                     uint32_t step) const;

  const plan::Plan &plan;
  Collectives &collectives;
  RankDevices devices;
  std::vector<std::unique_ptr<Buffer>> arenas_;
  RankMemory memory_;
  std::unique_ptr<Buffer> counters;    // between devices, or null
  std::atomic<uint64_t> moved[4] = {}; // by TransferKind
  std::vector<Bound> programs;
  std::vector<std::unique_ptr<NonfiniteSearch>> searches; // by plan, or none
  // The program that runs: its other parts may wait for the one that fails.
  std::atomic<Bound *> running{nullptr};
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_EXECUTOR_H
