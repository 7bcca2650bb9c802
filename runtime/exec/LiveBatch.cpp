//===- LiveBatch.cpp - batches that a live run is given -------------------===//

#include "runtime/exec/LiveBatch.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <optional>

using namespace zerograph;

static constexpr char kBatch[] = "the batch";

/// Returns what is wrong with how many samples a batch has.
static absl::Status checkSamples(const DataSource &batch,
                                 const plan::Plan &plan, unsigned processes) {
  uint64_t samples = batch.samples(), step = samplesOfStep(plan);
  uint64_t own = step / processes;
  if (!batch.perSample() || samples == step || samples == own) {
    return absl::OkStatus();
  }
  uint64_t accumulate = std::max<uint64_t>(1, plan.accumulate());
  return absl::InvalidArgumentError(absl::StrCat(
      kBatch, ": has ", samples, " samples; a step takes ", step, " (",
      worldOf(plan), " ranks x ", accumulate, " micro-batches x ",
      plan.micro_batch(), " samples)",
      own == step ? ""
                  : absl::StrCat(", of which ", own, " are this process's"),
      samples < step ? ": leave out a last batch that is smaller "
                       "(drop_last), or make a plan for it too"
                     : ""));
}

absl::StatusOr<GivenBatch>
GivenBatch::of(const TensorFile &arrays,
               const std::vector<const plan::Plan *> &plans, unsigned processes,
               bool step) {
  std::optional<GivenBatch> found;
  std::vector<std::string> reasons;
  for (size_t number = 0; number < plans.size(); ++number) {
    auto batch =
        DataSource::of(kBatch, arrays, *plans[number], Purpose::Evaluation);
    absl::Status status = batch.status();
    if (status.ok() && step) {
      status = checkSamples(**batch, *plans[number], processes);
    }
    if (!status.ok() && plans.size() == 1) {
      return status;
    }
    if (!status.ok()) {
      reasons.push_back(
          absl::StrCat("plan ", number + 1, ": ", status.message()));
      continue;
    }
    GivenBatch given;
    given.batch = *std::move(batch);
    given.of_plan = plans[number];
    given.place = number;
    if (step && found && given.isWhole() != found->isWhole()) {
      return absl::InvalidArgumentError(absl::StrCat(
          kBatch, ": has ", given.data().samples(),
          " samples, which are a step of one plan and, for this process, a "
          "part "
          "of a step of another: the plans of several processes need other "
          "numbers of samples"));
    }
    if (!found) {
      found = std::move(given);
    }
    if (processes == 1) {
      break;
    }
  }
  if (found) {
    return *std::move(found);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(kBatch, " is that of none of the trainer's plans. ",
                   absl::StrJoin(reasons, "; ")));
}
