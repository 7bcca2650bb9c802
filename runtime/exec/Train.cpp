//===- Train.cpp - training runs, ranks as threads or as processes --------===//

#include "runtime/exec/Train.h"

#include "runtime/exec/RanksHere.h"

using namespace zerograph;

namespace {

/// Does the whole run, and returns the result of rank 0 of this process.
absl::StatusOr<TrainResult> runAll(RanksHere &ranks) {
  absl::StatusOr<TrainResult> first;
  ZG_RETURN_IF_ERROR(ranks.forEach([&](size_t i) {
    absl::StatusOr<TrainResult> result = ranks[i].run();
    absl::Status status = result.status();
    if (i == 0) {
      first = std::move(result);
    }
    return status;
  }));
  return first;
}

} // namespace

absl::StatusOr<TrainResult> zerograph::train(const LoadedPlan &loaded,
                                             const TrainOptions &options) {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<RanksHere> ranks,
                      RanksHere::open(loaded, options));
  return runAll(*ranks);
}

absl::StatusOr<TrainResult> zerograph::trainAsRank(const LoadedPlan &loaded,
                                                   const TrainOptions &options,
                                                   Collectives &collectives,
                                                   ControlPlane &control) {
  ZG_ASSIGN_OR_RETURN(
      std::unique_ptr<RanksHere> ranks,
      RanksHere::openAsRank(loaded, options, collectives, control));
  return runAll(*ranks);
}
