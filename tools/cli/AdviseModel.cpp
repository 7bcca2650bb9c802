//===- AdviseModel.cpp - advice for a model -------------------------------===//

#include "tools/cli/AdviseModel.h"

#include "options/Memory.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "tools/advise/Parallel.h"
#include "tools/cli/GivenOptions.h"
#include "tools/cli/ModelFacts.h"
#include "tools/cli/Notes.h"
#include "tools/cli/OptionTable.h"

#include <algorithm>
#include <mutex>
#include <thread>

namespace zerograph {
namespace {

/// Strategies tried at the same time: the compilation of each has half a GiB
/// for a model of 8 billion parameters.
constexpr unsigned kMostThreads = 8;

/// Makes plans for the machine's device, unless another target is given.
absl::Status setTarget(const AdviseFlags &flags,
                       const simulate::Machine &machine) {
  std::string refused =
      giveOption(flags.command, "target",
                 machine.device == "host"           ? "host:native"
                 : machine.card->architecture >= 90 ? "cuda:sm_90"
                                                    : "cuda:sm_80");
  return refused.empty() ? absl::OkStatus() : absl::InternalError(refused);
}

/// Takes the limit of the device's memory out of the options: what does not fit
/// is not refused but told.
absl::Status takeMemory(Question &question) {
  CompileOptions &options = question.options;
  if (options.recompute != "none" && options.recompute != "units" &&
      options.recompute != "selective") {
    return absl::InvalidArgumentError(
        absl::StrCat("--recompute ", options.recompute,
                     ": advise tries none, selective and units; give one of "
                     "these, or nothing"));
  }
  if (!options.memory.empty()) {
    int64_t limit = options::parseMemory(options.memory, options.ranks).device;
    question.limit = limit > 0 ? uint64_t(limit) : UINT64_MAX;
    options.memory.clear();
  }
  return absl::OkStatus();
}

absl::StatusOr<Question>
questionOf(AdviseFlags &flags, const std::string &model,
           const std::optional<ExampleArrays> &example) {
  if (flags.compile.isGiven("--micro-batch") ||
      flags.compile.isGiven("--accumulate")) {
    return absl::InvalidArgumentError(
        "--micro-batch and --accumulate are what it looks for; say "
        "--global-batch");
  }
  Question question;
  ZG_ASSIGN_OR_RETURN(question.machine, flags.machine.machine());
  ZG_RETURN_IF_ERROR(setTarget(flags, question.machine));
  ZG_RETURN_IF_ERROR(flags.compile.readConfig(model, std::nullopt));
  ZG_ASSIGN_OR_RETURN(question.options, flags.compile.resolve());
  CompileOptions &options = question.options;
  options.model = model;
  ZG_ASSIGN_OR_RETURN(std::vector<frontend::InputSignature> inputs,
                      inputsOf(model));
  GlobalBatch step = globalBatch(options, inputs, example);
  question.global_batch = uint64_t(step.samples);
  if (question.global_batch == 0 && options.samples > 0) {
    question.global_batch =
        uint64_t(options.samples * options.accumulate * options.ranks);
    say(Matter::Run, absl::StrCat("--global-batch ", question.global_batch,
                                  ", as the file of --config has it"));
  }
  if (question.global_batch == 0 && options.accumulate > 1) {
    say(Matter::Run,
        absl::StrCat("--accumulate ", options.accumulate, " of the file of ",
                     "--config is left out: give --global-batch"));
  }
  options.global_batch = options.samples = 0; // each trial has its own
  options.accumulate = 1;
  ZG_RETURN_IF_ERROR(takeMemory(question));
  question.all = flags.wishes.all;
  question.threads =
      std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  question.bind = [inputs, example](CompileOptions &options) {
    return bindSizes(options, inputs, example);
  };
  return question;
}

absl::Status checkBatch(uint64_t global_batch, uint32_t ranks) {
  return global_batch % ranks == 0
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(
                   "a step (--global-batch, or the example) of ", global_batch,
                   " samples is not the same for each of ", ranks,
                   " ranks; expected a multiple of ", ranks));
}

absl::Status checkNodes(const simulate::Cluster &cluster, uint32_t ranks) {
  return cluster.ranks() == ranks
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat(counted(ranks, "rank"), " are not ",
                                counted(cluster.nodes, "node"), " of ",
                                cluster.ranks_per_node,
                                ": give --ranks-per-node alone, or neither"));
}

/// Asks for so many ranks.
void setRanks(const AdviseFlags &flags, uint32_t ranks, Question &question) {
  question.options.ranks = ranks;
  question.cluster = flags.machine.cluster(ranks, question.machine);
  question.strategies =
      strategiesOf(question.options, [&](const std::string &option) {
        return flags.compile.isGiven(option);
      });
}

} // namespace

AdviseFlags::AdviseFlags(CLI::App &command)
    : command(command), compile(command, kTrains), machine(command) {
  command
      .add_option("--or-ranks", or_ranks,
                  "N,N,...: more numbers of ranks; shows the fastest of each")
      ->delimiter(',')
      ->check(CLI::Range(1u, 1u << 16));
  command
      .add_option("--tokens", wishes.tokens,
                  "tokens to train on, as 15e12: says how many days that is")
      ->check(checks::positive.validator);
  command
      .add_option("--price", wishes.price,
                  "of a rank and hour: says with --tokens what it costs")
      ->check(checks::positive.validator)
      ->needs("--tokens");
  command.add_flag("--all", wishes.all,
                   "all strategies, also those that offload "
                   "where nothing needs to, and those that do "
                   "not fit");
}

const RanksAdvice *ModelAdvice::fastest() const {
  auto rate = [](const RanksAdvice &one) {
    return one.advice.trials.empty()
               ? 0
               : one.advice.trials.front().samples_per_second;
  };
  auto best = std::max_element(
      ranks.begin(), ranks.end(),
      [&](const auto &a, const auto &b) { return rate(a) < rate(b); });
  return rate(*best) > 0 ? &*best : nullptr;
}

nlohmann::ordered_json ModelAdvice::json(const AdviceWishes &wishes) const {
  nlohmann::ordered_json json = {{"machine", question.machine.name},
                                 {"target", question.options.target}};
  const std::string &target = question.options.target;
  json.update(adviceJson(ranks.front(), target, wishes));
  for (size_t i = 1; i < ranks.size(); ++i) {
    json["or_ranks"].push_back(adviceJson(ranks[i], target, wishes));
  }
  return json;
}

absl::StatusOr<ModelAdvice>
adviseModel(AdviseFlags &flags, const std::string &model,
            const std::optional<ExampleArrays> &example, const Tried &tried) {
  ModelAdvice all;
  ZG_ASSIGN_OR_RETURN(all.question, questionOf(flags, model, example));
  std::vector<uint32_t> counts = {uint32_t(all.question.options.ranks)};
  for (uint32_t ranks : flags.or_ranks) {
    if (std::find(counts.begin(), counts.end(), ranks) == counts.end()) {
      counts.push_back(ranks);
    }
  }
  for (uint32_t ranks : counts) { // before one takes its time
    ZG_RETURN_IF_ERROR(checkBatch(all.question.global_batch, ranks));
    ZG_RETURN_IF_ERROR(
        checkNodes(flags.machine.cluster(ranks, all.question.machine), ranks));
  }
  Estimator estimator(all.question.machine);
  std::mutex telling;
  std::vector<absl::StatusOr<Advice>> advices(counts.size());
  std::vector<Question> questions(counts.size(), all.question);
  for (size_t i = 0; i < counts.size(); ++i) {
    setRanks(flags, counts[i], questions[i]);
    questions[i].threads =
        std::max(1u, all.question.threads / unsigned(counts.size()));
    if (i > 0) {
      questions[i].made_whole = 1; // of other numbers the fastest is shown
    }
    questions[i].tried = [&tried, &telling,
                          ranks = counts[i]](const Trial &trial) {
      if (tried) {
        std::lock_guard<std::mutex> lock(telling);
        tried(ranks, trial);
      }
    };
  }
  inParallel(all.question.threads, counts.size(),
             [&](size_t i) { advices[i] = advise(questions[i], estimator); });
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!advices[i].ok()) {
      return annotate(advices[i].status(), counted(counts[i], "rank"));
    }
    all.ranks.push_back({questions[i].cluster, *std::move(advices[i])});
  }
  return all;
}

} // namespace zerograph
