//===- RanksHere.cpp - the ranks of this process --------------------------===//

#include "runtime/exec/RanksHere.h"

#include "runtime/base/Cause.h"
#include "runtime/comm/local/LocalGroup.h"
#include "runtime/exec/Gpus.h"

#include <exception>

using namespace zerograph;

namespace {

/// Returns the failure that ended the others: theirs say only that a rank
/// failed.
absl::Status originalError(const std::vector<absl::Status> &results) {
  absl::Status original;
  for (size_t rank = 0; rank < results.size(); ++rank) {
    const absl::Status &status = results[rank];
    if (!status.ok() && !isCollateral(status)) {
      return results.size() == 1
                 ? status
                 : annotate(status, absl::StrCat("rank ", rank));
    }
    original.Update(status);
  }
  return original;
}

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

/// Opens a machine for all plans of a trainer.
absl::StatusOr<Machine> openMachine(const LoadedPlan &loaded,
                                    const TrainOptions &options,
                                    unsigned number = 0) {
  if (!options.also.empty() && !options.algorithms.empty()) {
    return absl::UnimplementedError(
        "--algorithms is a file of one plan's products: a trainer of several "
        "plans takes none");
  }
  ZG_ASSIGN_OR_RETURN(Machine machine,
                      Machine::open(loaded.plan, {options.algorithms}, number));
  for (const LoadedPlan *other : options.also) {
    ZG_RETURN_IF_ERROR(machine.add(loaded.plan, other->plan));
  }
  return machine;
}

} // namespace

/// Opens the other GPUs, where ranks have one each, and what ranks exchange by.
absl::Status RanksHere::openGpus() {
  const plan::Plan &plan = shared->plan();
  const Backend &backend = backendOf(plan);
  ZG_ASSIGN_OR_RETURN(unsigned gpus, gpusOfThreads(plan));
  ZG_RETURN_IF_ERROR(checkGraphs(*shared, gpus));
  if (gpus == 1) {
    std::vector<ControlPlane *> all;
    for (auto &control : controls) {
      all.push_back(control.get());
    }
    between_gpus = backend.share(*machines[0].module, all);
    return absl::OkStatus();
  }
  for (unsigned number = 1; number < gpus; ++number) {
    // The algorithms that the first GPU has chosen, the others find written.
    ZG_ASSIGN_OR_RETURN(Machine machine,
                        openMachine(*shared->loaded, shared->options, number));
    machines.push_back(std::move(machine));
  }
  for (unsigned rank = 0; rank < gpus; ++rank) {
    auto made = backend.connect(*machines[rank].module, *controls[rank],
                                exchangeOptions(*shared));
    if (!made.ok()) {
      return annotate(made.status(),
                      "ranks with a GPU each exchange by NCCL, and those that "
                      "see one alone share it (CUDA_VISIBLE_DEVICES=0)");
    }
    between_gpus.push_back(std::move(*made));
  }
  return absl::OkStatus();
}

void RanksHere::addRank(size_t machine, Collectives &collectives,
                        ControlPlane &control) {
  ranks.push_back(std::make_unique<RankRun>(*shared, machines[machine],
                                            collectives, control));
}

absl::StatusOr<std::unique_ptr<RanksHere>>
RanksHere::open(const LoadedPlan &loaded, const TrainOptions &options) {
  std::unique_ptr<RanksHere> here(new RanksHere);
  ZG_ASSIGN_OR_RETURN(here->machines.emplace_back(),
                      openMachine(loaded, options));
  ZG_ASSIGN_OR_RETURN(here->shared, openSession(loaded, options));
  LocalGroupOptions group;
  group.world = worldOf(loaded.plan);
  group.deadline = std::chrono::duration<double>(options.deadline_seconds);
  group.on_enter = options.on_collective;
  here->controls = makeLocalGroup(group);
  ZG_RETURN_IF_ERROR(here->openGpus());
  for (size_t rank = 0; rank < group.world; ++rank) {
    here->addRank(here->machines.size() == 1 ? 0 : rank,
                  here->between_gpus.empty() ? *here->controls[rank]
                                             : *here->between_gpus[rank],
                  *here->controls[rank]);
  }
  ZG_ASSIGN_OR_RETURN(here->threads, RankThreads::start(group.world));
  return here;
}

absl::StatusOr<std::unique_ptr<RanksHere>>
RanksHere::openAsRank(const LoadedPlan &loaded, const TrainOptions &options,
                      Collectives &collectives, ControlPlane &control) {
  ZG_ASSIGN_OR_RETURN(unsigned gpu, gpuOfProcess(loaded.plan, control));
  std::unique_ptr<RanksHere> here(new RanksHere);
  auto open = [&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(here->machines.emplace_back(),
                        openMachine(loaded, options, gpu));
    ZG_ASSIGN_OR_RETURN(
        here->shared,
        openSession(loaded, options, control.rank(), control.world()));
    if (control.world() > 1) {
      ZG_ASSIGN_OR_RETURN(auto made,
                          backendOf(loaded.plan)
                              .connect(*here->machines[0].module, control,
                                       exchangeOptions(*here->shared)));
      if (made) {
        here->between_gpus.push_back(std::move(made));
      }
    }
    return absl::OkStatus();
  };
  control.setBusy(true); // with weights and labels to look at
  absl::Status opened = open();
  control.setBusy(false);
  ZG_RETURN_IF_ERROR(agree(control, "opening plan and data", opened));
  here->addRank(
      0, here->between_gpus.empty() ? collectives : *here->between_gpus[0],
      control);
  ZG_ASSIGN_OR_RETURN(here->threads, RankThreads::start(1));
  return here;
}

absl::Status
RanksHere::forEach(absl::FunctionRef<absl::Status(size_t i)> work) {
  std::vector<absl::Status> results(ranks.size());
  threads->run([&](size_t rank) {
    try {
      results[rank] = work(rank);
    } catch (const std::exception &error) { // there is no memory left
      results[rank] = absl::ResourceExhaustedError(error.what());
      ranks[rank]->abort(results[rank]);
    }
  });
  // It is an error that all ranks found, if nobody has failed.
  return controls.empty() || controls[0]->failure().ok()
             ? results[0]
             : originalError(results);
}
