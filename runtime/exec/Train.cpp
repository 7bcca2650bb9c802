//===- Train.cpp - a training run on ranks in this process ----------------===//

#include "runtime/exec/Train.h"

#include "runtime/base/Cause.h"
#include "runtime/comm/cuda/GpuGroup.h"
#include "runtime/comm/local/LocalGroup.h"
#include "runtime/comm/nccl/NcclCollectives.h"
#include "runtime/exec/Gpus.h"
#include "runtime/exec/RankRun.h"
#include "runtime/exec/ResumeRun.h"

#include <system_error>
#include <thread>

using namespace zerograph;

namespace {

/// Returns the failure that ended the others: theirs say only that a rank
/// failed.
absl::Status originalError(const std::vector<absl::Status> &statuses) {
  absl::Status original;
  for (size_t rank = 0; rank < statuses.size(); ++rank) {
    const absl::Status &status = statuses[rank];
    if (!status.ok() && !isCollateral(status)) {
      return statuses.size() == 1
                 ? status
                 : annotate(status, absl::StrCat("rank ", rank));
    }
    original.Update(status);
  }
  return original;
}

/// Returns what `run` gives for each rank, on a thread of its own; calls
/// `abort` with a failure, since the others wait for that rank.
std::vector<absl::Status>
onThreads(size_t ranks, const std::function<absl::Status(size_t)> &run,
          const std::function<void(size_t, const absl::Status &)> &abort) {
  std::vector<absl::Status> statuses(ranks);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks; ++rank) {
    try {
      threads.emplace_back([&, rank] {
        statuses[rank] = run(rank);
        if (!statuses[rank].ok()) {
          abort(rank, statuses[rank]);
        }
      });
    } catch (const std::system_error &error) {
      statuses[rank] = absl::ResourceExhaustedError(
          absl::StrCat("the system gives no thread to run on (", error.what(),
                       "): use fewer ranks or --threads"));
      abort(rank, statuses[rank]);
      break; // those that run end now
    }
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return statuses;
}

/// The machines and collectives of ranks that are threads: the processor; or
/// one GPU that all share; or a GPU each, by NCCL. Members that come first
/// outlive the others.
struct RanksHere {
  Session *session = nullptr;
  /// The machines of ranks 1 and on, where each has its own; else empty.
  std::vector<Machine> machines;
  // A control that goes is a rank that has ended.
  std::vector<std::unique_ptr<HostCommunicator>> controls;
  /// The collectives between GPUs; empty on the processor.
  std::vector<std::unique_ptr<Collectives>> on_gpus;

  Machine &machine(size_t rank) {
    return machines.empty() || rank == 0 ? session->machine
                                         : machines[rank - 1];
  }
  Collectives &collectives(size_t rank) const {
    return on_gpus.empty() ? *controls[rank] : *on_gpus[rank];
  }
};

/// Opens the GPUs of ranks 1 to `gpus` - 1.
absl::Status openMachines(RanksHere &here, unsigned gpus) {
  const plan::Plan &plan = here.session->plan();
  for (unsigned number = 1; number < gpus; ++number) {
    // The algorithms that the session's GPU has chosen, the others find
    // written.
    ZG_ASSIGN_OR_RETURN(Machine machine,
                        Machine::openVerified(
                            plan, {here.session->options.algorithms}, number));
    here.machines.push_back(std::move(machine));
  }
  return absl::OkStatus();
}

absl::Status checkGraphs(const Session &session, unsigned gpus) {
  if (session.options.graphs != Graphs::All || !isForGpus(session.plan()) ||
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

absl::StatusOr<RanksHere> openRanks(Session &session) {
  RanksHere here;
  here.session = &session;
  ZG_ASSIGN_OR_RETURN(unsigned gpus, gpusOfThreads(session.plan()));
  ZG_RETURN_IF_ERROR(checkGraphs(session, gpus));
  ZG_RETURN_IF_ERROR(openMachines(here, gpus));
  LocalGroupOptions group;
  group.world = worldOf(session.plan());
  group.deadline =
      std::chrono::duration<double>(session.options.deadline_seconds);
  group.on_enter = session.options.on_collective;
  here.controls = makeLocalGroup(group);
  if (gpus == 1) {
    std::vector<ControlPlane *> controls;
    for (auto &control : here.controls) {
      controls.push_back(control.get());
    }
    here.on_gpus = makeGpuGroup(*session.machine.module, controls);
    auto ranks = unsigned(controls.size());
    Neighbours neighbours{ranks, ranks, 1};
    ZG_RETURN_IF_ERROR(session.machine.checkRoom(session.plan(), neighbours,
                                                 checkpointCopy(session, 0)));
    ZG_RETURN_IF_ERROR(sayWhere(session, neighbours));
    return here;
  }
  for (unsigned rank = 0; rank < gpus; ++rank) {
    auto made = makeNcclCollectives(*here.machine(rank).module,
                                    *here.controls[rank], ncclOptions(session));
    if (!made.ok()) {
      return annotate(made.status(),
                      "ranks with a GPU each exchange by NCCL, and those that "
                      "see one alone share it (CUDA_VISIBLE_DEVICES=0)");
    }
    here.on_gpus.push_back(std::move(*made));
  }
  ZG_RETURN_IF_ERROR(originalError(onThreads(
      gpus,
      [&](size_t rank) {
        return openCollectives(here.machine(rank), here.collectives(rank));
      },
      [&](size_t rank, const absl::Status &status) {
        here.collectives(rank).abort(status);
      })));
  for (unsigned rank = 0; rank < gpus; ++rank) {
    ZG_RETURN_IF_ERROR(here.machine(rank).checkRoom(
        session.plan(), {1, gpus, 1}, checkpointCopy(session, rank)));
  }
  ZG_RETURN_IF_ERROR(sayWhere(session, {1, gpus, 1}));
  return here;
}

} // namespace

absl::StatusOr<TrainResult> zerograph::train(const LoadedPlan &loaded,
                                             const TrainOptions &options) {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      openSession(loaded, options));
  ZG_ASSIGN_OR_RETURN(RanksHere here, openRanks(*session));
  std::vector<std::unique_ptr<RankRun>> ranks;
  for (size_t rank = 0; rank < here.controls.size(); ++rank) {
    ranks.push_back(std::make_unique<RankRun>(*session, here.machine(rank),
                                              here.collectives(rank),
                                              *here.controls[rank]));
  }
  ZG_RETURN_IF_ERROR(originalError(onThreads(
      ranks.size(), [&](size_t rank) { return ranks[rank]->run(); },
      [&](size_t rank, const absl::Status &status) {
        ranks[rank]->abort(status);
      })));

  TrainResult result = std::move(session->result);
  for (const auto &rank : ranks) {
    result.ranks.push_back(rank->result());
  }
  if (session->trace && !result.losses.empty()) {
    std::vector<StepTimes> times;
    for (const auto &rank : ranks) {
      times.push_back(rank->times());
    }
    session->writeTrace(times);
  }
  result.peak_rss_bytes = peakResidentBytes();
  ZG_ASSIGN_OR_RETURN(
      result.gpu, gpuMemory(session->machine, loaded.plan,
                            here.machines.empty() ? worldOf(loaded.plan) : 1));
  return result;
}
