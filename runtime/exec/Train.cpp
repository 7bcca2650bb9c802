//===- Train.cpp - training runs, ranks as threads or as processes --------===//

#include "runtime/exec/Train.h"

#include "runtime/base/Cause.h"
#include "runtime/comm/local/LocalGroup.h"
#include "runtime/exec/Gpus.h"
#include "runtime/exec/RankRun.h"

#include <system_error>
#include <thread>

using namespace zerograph;

namespace {

using Results = std::vector<absl::StatusOr<TrainResult>>;

/// Returns the failure that ended the others: theirs say only that a rank
/// failed.
absl::Status originalError(const Results &results) {
  absl::Status original;
  for (size_t rank = 0; rank < results.size(); ++rank) {
    const absl::Status &status = results[rank].status();
    if (!status.ok() && !isCollateral(status)) {
      return results.size() == 1
                 ? status
                 : annotate(status, absl::StrCat("rank ", rank));
    }
    original.Update(status);
  }
  return original;
}

/// Runs each rank on a thread of its own.
Results runOnThreads(const std::vector<std::unique_ptr<RankRun>> &ranks) {
  Results results(ranks.size(), absl::CancelledError("it has not begun"));
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    try {
      threads.emplace_back([&, rank] { results[rank] = ranks[rank]->run(); });
    } catch (const std::system_error &error) {
      results[rank] = absl::ResourceExhaustedError(
          absl::StrCat("the system gives no thread to run on (", error.what(),
                       "): use fewer ranks or --threads"));
      ranks[rank]->abort(results[rank].status());
      break; // those that run end now
    }
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return results;
}

/// The machines and collectives of ranks that are threads: the processor; or
/// one GPU that all share; or a GPU each, by NCCL. Members that come first
/// outlive the others.
struct LocalRanks {
  std::vector<Machine> machines; // one for all ranks, or one a rank
  // A control that goes is a rank that has ended.
  std::vector<std::unique_ptr<HostCommunicator>> controls;
  /// The collectives between GPUs; empty on the processor.
  std::vector<std::unique_ptr<Collectives>> on_gpus;

  const Machine &machine(size_t rank) const {
    return machines.size() == 1 ? machines[0] : machines[rank];
  }
  Collectives &collectives(size_t rank) const {
    return on_gpus.empty() ? *controls[rank] : *on_gpus[rank];
  }
};

absl::Status checkGraphs(const Session &session, unsigned gpus) {
  if (session.options.graphs != Graphs::All ||
      !backendOf(session.plan()).accelerates() ||
      worldOf(session.plan()) == 1) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "--graph all records collectives of ranks that are processes with a GPU "
      "each, and here ranks are threads ",
      gpus == 1 ? "that share a GPU, which meet when each is issued"
                : "of one process, for which NCCL may deadlock",
      ". Start a process a rank (mpirun, srun, torchrun), or give --graph "
      "compute"));
}

/// Opens the other GPUs, where ranks have one each, and what ranks exchange by.
absl::Status openGpus(const Session &session, LocalRanks &here) {
  const plan::Plan &plan = session.plan();
  const Backend &backend = backendOf(plan);
  ZG_ASSIGN_OR_RETURN(unsigned gpus, gpusOfThreads(plan));
  ZG_RETURN_IF_ERROR(checkGraphs(session, gpus));
  if (gpus == 1) {
    std::vector<ControlPlane *> controls;
    for (auto &control : here.controls) {
      controls.push_back(control.get());
    }
    here.on_gpus = backend.share(*here.machines[0].module, controls);
    return absl::OkStatus();
  }
  for (unsigned number = 1; number < gpus; ++number) {
    // The algorithms that the first GPU has chosen, the others find written.
    ZG_ASSIGN_OR_RETURN(
        Machine machine,
        Machine::openVerified(plan, {session.options.algorithms}, number));
    here.machines.push_back(std::move(machine));
  }
  for (unsigned rank = 0; rank < gpus; ++rank) {
    auto made = backend.connect(*here.machine(rank).module,
                                *here.controls[rank], exchangeOptions(session));
    if (!made.ok()) {
      return annotate(made.status(),
                      "ranks with a GPU each exchange by NCCL, and those that "
                      "see one alone share it (CUDA_VISIBLE_DEVICES=0)");
    }
    here.on_gpus.push_back(std::move(*made));
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<TrainResult> zerograph::train(const LoadedPlan &loaded,
                                             const TrainOptions &options) {
  LocalRanks here;
  ZG_ASSIGN_OR_RETURN(here.machines.emplace_back(),
                      Machine::open(loaded.plan, {options.algorithms}));
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      openSession(loaded, options));
  LocalGroupOptions group;
  group.world = worldOf(loaded.plan);
  group.deadline = std::chrono::duration<double>(options.deadline_seconds);
  group.on_enter = options.on_collective;
  here.controls = makeLocalGroup(group);
  ZG_RETURN_IF_ERROR(openGpus(*session, here));
  std::vector<std::unique_ptr<RankRun>> ranks;
  for (size_t rank = 0; rank < group.world; ++rank) {
    ranks.push_back(std::make_unique<RankRun>(*session, here.machine(rank),
                                              here.collectives(rank),
                                              *here.controls[rank]));
  }
  Results results = runOnThreads(ranks);
  if (here.controls[0]->failure().ok()) {
    return std::move(results[0]); // also an error that all ranks found
  }
  return originalError(results);
}

absl::StatusOr<TrainResult> zerograph::trainAsRank(const LoadedPlan &loaded,
                                                   const TrainOptions &options,
                                                   Collectives &collectives,
                                                   ControlPlane &control) {
  ZG_ASSIGN_OR_RETURN(unsigned gpu, gpuOfProcess(loaded.plan, control));
  Machine machine;
  std::unique_ptr<Session> session;
  std::unique_ptr<Collectives> between_gpus;
  auto open = [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(machine,
                        Machine::open(loaded.plan, {options.algorithms}, gpu));
    ZG_ASSIGN_OR_RETURN(
        session, openSession(loaded, options, control.rank(), control.world()));
    if (control.world() > 1) {
      ZG_ASSIGN_OR_RETURN(
          between_gpus,
          backendOf(loaded.plan)
              .connect(*machine.module, control, exchangeOptions(*session)));
    }
    return absl::OkStatus();
  };
  control.setBusy(true); // with weights and labels to look at
  absl::Status opened = open();
  control.setBusy(false);
  ZG_RETURN_IF_ERROR(agree(control, "opening plan and data", opened));
  return RankRun(*session, machine, between_gpus ? *between_gpus : collectives,
                 control)
      .run();
}
