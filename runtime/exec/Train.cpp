//===- Train.cpp - a training run on ranks in this process ----------------===//

#include "runtime/exec/Train.h"

#include "runtime/base/Cause.h"
#include "runtime/comm/cuda/GpuGroup.h"
#include "runtime/comm/local/LocalGroup.h"
#include "runtime/exec/RankRun.h"

#include <system_error>
#include <thread>

using namespace zerograph;

namespace {

/// The failure that ended the others: theirs say only that a rank failed.
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

} // namespace

absl::StatusOr<TrainResult> zerograph::train(const LoadedPlan &loaded,
                                             const TrainOptions &options) {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                      openSession(loaded, options));
  ZG_RETURN_IF_ERROR(
      session->machine.checkArenas(loaded.plan, worldOf(loaded.plan)));
  LocalGroupOptions group;
  group.world = worldOf(loaded.plan);
  group.deadline = std::chrono::duration<double>(options.deadline_seconds);
  group.on_enter = options.on_collective;

  // A communicator that goes is a rank that has ended.
  auto communicators = makeLocalGroup(group);
  std::vector<ControlPlane *> controls;
  for (auto &communicator : communicators) {
    controls.push_back(communicator.get());
  }
  // Those of a GPU that the ranks share; else of the processor.
  auto collectives = makeGpuGroup(*session->machine.module, controls);
  std::vector<std::unique_ptr<RankRun>> ranks;
  for (size_t rank = 0; rank < communicators.size(); ++rank) {
    Collectives &data = collectives.empty()
                            ? static_cast<Collectives &>(*communicators[rank])
                            : *collectives[rank];
    ranks.push_back(
        std::make_unique<RankRun>(*session, data, *communicators[rank]));
  }
  std::vector<absl::Status> statuses(ranks.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    try {
      threads.emplace_back([&, rank] { statuses[rank] = ranks[rank]->run(); });
    } catch (const std::system_error &error) {
      statuses[rank] = absl::ResourceExhaustedError(
          absl::StrCat("the system gives no thread to run on (", error.what(),
                       "): use fewer ranks or --threads"));
      ranks[rank]->abort(statuses[rank]);
      break; // those that run end now
    }
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  ZG_RETURN_IF_ERROR(originalError(statuses));

  TrainResult result = std::move(session->result);
  for (const auto &rank : ranks) {
    result.ranks.push_back(rank->result());
  }
  if (session->trace && !result.losses.empty()) {
    std::vector<StepTimes> times;
    for (const auto &rank : ranks) {
      times.push_back(rank->times());
    }
    ZG_RETURN_IF_ERROR(session->trace->write(loaded.plan, times));
  }
  result.peak_rss_bytes = peakResidentBytes();
  return result;
}
