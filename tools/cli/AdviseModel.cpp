//===- AdviseModel.cpp - `advise MODEL.onnx` ------------------------------===//

#include "options/Memory.h"
#include "runtime/base/OutputPath.h"
#include "runtime/base/Text.h"
#include "runtime/io/NewFile.h"
#include "tools/cli/AdviceText.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/ConfigFile.h"
#include "tools/cli/GivenOptions.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/MachineFlags.h"
#include "tools/cli/OptionTable.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
#include <unistd.h>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

/// Strategies tried at the same time: the compilation of each has half a GiB
/// for a model of 8 billion parameters.
constexpr unsigned kMostThreads = 8;

struct Flags {
  explicit Flags(CLI::App &command)
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
    command.add_option("--deepspeed", deepspeed,
                       "FILE.json: writes DeepSpeed's file of the fastest");
    command.add_flag("--json", json, "all of it, for programs");
  }

  CLI::App &command;
  CompileFlags compile;
  MachineFlags machine;
  std::vector<uint32_t> or_ranks;
  AdviceWishes wishes;
  std::string deepspeed;
  bool json = false;
};

/// Makes plans for the machine's device, unless another target is given.
absl::Status setTarget(const Flags &flags, const simulate::Machine &machine) {
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

absl::StatusOr<Question> questionOf(Flags &flags, const std::string &model) {
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
  question.global_batch = uint64_t(options.global_batch);
  if (question.global_batch == 0 && options.samples > 0) {
    question.global_batch =
        uint64_t(options.samples * options.accumulate * options.ranks);
    std::fprintf(stderr,
                 "note: --global-batch %llu, as the file of --config "
                 "has it\n",
                 static_cast<unsigned long long>(question.global_batch));
  }
  options.global_batch = options.samples = 0; // each trial has its own
  options.accumulate = 1;
  ZG_RETURN_IF_ERROR(takeMemory(question));
  question.all = flags.wishes.all;
  question.threads =
      std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  question.bind = [](CompileOptions &options) {
    return bindSizes(options, std::nullopt);
  };
  return question;
}

absl::Status checkBatch(uint64_t global_batch, uint32_t ranks) {
  return global_batch % ranks == 0
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat("--global-batch ", global_batch,
                                " samples are not the same for each of ", ranks,
                                " ranks; expected a multiple of ", ranks));
}

/// Asks for so many ranks.
void setRanks(const Flags &flags, uint32_t ranks, Question &question) {
  question.options.ranks = ranks;
  question.cluster = flags.machine.cluster(ranks, question.machine);
  question.strategies =
      strategiesOf(question.options, [&](const std::string &option) {
        return flags.compile.isGiven(option);
      });
}

/// Lists the options that compile does not take, or that a command gives anew,
/// besides those of the strategy.
const std::set<std::string> kNotTaken = {
    "all",        "or-ranks", "deepspeed",   "global-batch",
    "json",       "machine",  "nodes",       "price",
    "tokens",     "what-if",  "ranks",       "ranks-per-node",
    "accumulate", "config",   "micro-batch", "target"};

/// Returns the command that compiles a trial.
std::string commandText(Flags &flags, const CompileOptions &options,
                        uint32_t ranks, const Trial &trial) {
  std::set<std::string> without = kNotTaken;
  for (const auto &[option, value] : trial.strategy.settings()) {
    without.insert(option);
  }
  return absl::StrCat(
      "zerograph compile ", quoted(options.model), " -o PLAN --target ",
      options.target, " --ranks ", ranks, " ",
      absl::StrJoin(optionsAsGiven(flags.command, without), " "), " ",
      optionsText(trial));
}

/// Returns the options that name the machine, and where so many ranks are.
std::string machineText(Flags &flags, const simulate::Cluster &cluster) {
  std::map<std::string, std::string> given = optionsGiven(flags.command);
  std::vector<std::string> texts;
  for (const auto &[name, value] :
       {std::pair("machine", given["machine"]),
        {"nodes", absl::StrCat(cluster.nodes)},
        {"ranks-per-node", absl::StrCat(cluster.ranks_per_node)},
        {"what-if", given["what-if"]}}) {
    if (!given[name].empty()) {
      texts.push_back(asOption(flags.command, name, value));
    }
  }
  return absl::StrJoin(texts, " ");
}

/// Writes the file of a trial.
absl::Status writeDeepSpeedFile(const Flags &flags, uint32_t ranks,
                                const Trial &best) {
  std::map<std::string, std::string> given = optionsGiven(flags.command);
  for (const std::string &name : kNotTaken) {
    given.erase(name);
  }
  for (const auto &[option, value] : best.strategy.settings()) {
    given[option] = value;
  }
  given["ranks"] = absl::StrCat(ranks);
  given["micro-batch"] = absl::StrCat(best.micro_batch);
  given["accumulate"] = absl::StrCat(best.accumulate);
  config::Written written = config::writeDeepSpeed(given);
  sayOf(written);
  return writeWholeFile(flags.deepspeed, written.json);
}

/// Returns the advice whose fastest trial is the fastest; null if nothing fits.
const RanksAdvice *fastestOf(const std::vector<RanksAdvice> &all) {
  auto rate = [](const RanksAdvice &one) {
    return one.advice.trials.empty()
               ? 0
               : one.advice.trials.front().samples_per_second;
  };
  auto best = std::max_element(
      all.begin(), all.end(),
      [&](const auto &a, const auto &b) { return rate(a) < rate(b); });
  return rate(*best) > 0 ? &*best : nullptr;
}

void print(const std::vector<RanksAdvice> &all, const Question &question,
           Flags &flags) {
  const RanksAdvice &first = all.front();
  std::string text = all.size() == 1 ? adviceText(first, flags.wishes)
                                     : ranksText(all, flags.wishes);
  const RanksAdvice *best = fastestOf(all);
  if (!best) {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::string where = all.size() > 1
                          ? "the fastest of each number of ranks"
                          : absl::StrCat(counted(first.cluster.ranks(), "rank"),
                                         ", ", first.cluster.ranks_per_node,
                                         " a node: fastest first");
  std::printf("%s on %s, %s\n\n%s\nnext: %s; zerograph report PLAN %s "
              "-o FILE.html shows it\n",
              question.options.model.c_str(), question.machine.name.c_str(),
              where.c_str(), text.c_str(),
              commandText(flags, question.options, best->cluster.ranks(),
                          best->advice.trials.front())
                  .c_str(),
              machineText(flags, best->cluster).c_str());
}

void printJson(const std::vector<RanksAdvice> &all, const Question &question,
               const AdviceWishes &wishes) {
  Json json = {{"machine", question.machine.name},
               {"target", question.options.target}};
  json.update(adviceJson(all.front(), wishes));
  for (size_t i = 1; i < all.size(); ++i) {
    json["or_ranks"].push_back(adviceJson(all[i], wishes));
  }
  std::printf("%s\n", json.dump(2).c_str());
}

absl::StatusOr<int> run(Flags &flags, const std::string &model) {
  ZG_RETURN_IF_ERROR(checkInputFile(model, Input::Model));
  if (!flags.deepspeed.empty()) {
    ZG_RETURN_IF_ERROR(checkOutputPath(flags.deepspeed));
    ZG_RETURN_IF_ERROR(checkNotRead("--deepspeed", flags.deepspeed,
                                    {model, flags.machine.source(),
                                     optionsGiven(flags.command)["config"]}));
  }
  ZG_ASSIGN_OR_RETURN(Question question, questionOf(flags, model));
  if (isatty(STDERR_FILENO)) {
    question.tried = [](const Trial &trial) {
      std::fprintf(stderr, "tried %s: %s\n", trial.strategy.text().c_str(),
                   trial.micro_batch
                       ? (simulate::rateText(trial.samples_per_second) +
                          " samples a second")
                             .c_str()
                       : trial.rejected.c_str());
    };
  }
  std::vector<uint32_t> counts = {uint32_t(question.options.ranks)};
  for (uint32_t ranks : flags.or_ranks) {
    if (std::find(counts.begin(), counts.end(), ranks) == counts.end()) {
      counts.push_back(ranks);
    }
  }
  for (uint32_t ranks : counts) { // before one takes its time
    ZG_RETURN_IF_ERROR(checkBatch(question.global_batch, ranks));
  }
  std::vector<RanksAdvice> all;
  for (uint32_t ranks : counts) {
    setRanks(flags, ranks, question);
    absl::StatusOr<Advice> advice = advise(question);
    if (!advice.ok()) {
      return annotate(advice.status(), counted(ranks, "rank"));
    }
    all.push_back({question.cluster, *std::move(advice)});
  }
  const RanksAdvice *best = fastestOf(all);
  if (best && !flags.deepspeed.empty()) {
    ZG_RETURN_IF_ERROR(writeDeepSpeedFile(flags, best->cluster.ranks(),
                                          best->advice.trials.front()));
  }
  if (flags.json) {
    printJson(all, question, flags.wishes);
  } else {
    print(all, question, flags);
  }
  return best ? 0 : 1;
}

} // namespace

void addAdvise(CommandLine &line) {
  CLI::App &command =
      line.add("advise", "Finds the strategy that trains a model fastest on a "
                         "machine: plans each, and simulates it");
  auto model = std::make_shared<std::string>();
  command.add_option("MODEL", *model, "MODEL.onnx")->required();
  auto flags = std::make_shared<Flags>(command);
  line.onRun(command, [=]() { return run(*flags, *model); });
}

} // namespace zerograph
