//===- AdviseModel.cpp - `advise MODEL.onnx` ------------------------------===//

#include "config/Write.h"
#include "options/Sizes.h"
#include "runtime/base/OutputPath.h"
#include "runtime/io/NewFile.h"
#include "runtime/plan/InspectTable.h"
#include "tools/advise/Advise.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/GivenOptions.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/MachineFlags.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
#include <unistd.h>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

/// Strategies that the text shows.
constexpr size_t kShown = 8;

struct Flags {
  explicit Flags(CLI::App &command)
      : command(command), compile(command, kTrains), machine(command) {
    command
        .add_option("--global-batch", global_batch,
                    "samples of a step, of all ranks; default: one "
                    "micro-batch a rank, as large as fits")
        ->check(CLI::Range(uint64_t(1), uint64_t(1) << 40));
    command.add_flag("--all", all,
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
  uint64_t global_batch = 0;
  std::string deepspeed;
  bool all = false, json = false;
};

/// Makes plans for the machine's device, unless another is asked for.
void setTarget(const Flags &flags, const simulate::Machine &machine,
               CompileOptions &options) {
  if (!flags.compile.isGiven("--target")) {
    options.target = machine.device == "host"           ? "host:native"
                     : machine.card->architecture >= 90 ? "cuda:sm_90"
                                                        : "cuda:sm_80";
  }
}

absl::StatusOr<Question> questionOf(Flags &flags, const std::string &model) {
  if (flags.compile.isGiven("--micro-batch") ||
      flags.compile.isGiven("--accumulate")) {
    return absl::InvalidArgumentError(
        "--micro-batch and --accumulate are what it looks for; say "
        "--global-batch");
  }
  Question question;
  ZG_RETURN_IF_ERROR(flags.compile.readConfig(model, std::nullopt));
  ZG_ASSIGN_OR_RETURN(question.machine, flags.machine.machine());
  ZG_ASSIGN_OR_RETURN(question.options, flags.compile.resolve());
  question.options.model = model;
  setTarget(flags, question.machine, question.options);
  auto ranks = uint32_t(question.options.ranks);
  question.cluster = flags.machine.cluster(ranks, question.machine);
  question.global_batch = flags.global_batch;
  question.all = flags.all;
  question.threads = std::max(1u, std::thread::hardware_concurrency());
  if (flags.global_batch % ranks != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--global-batch ", flags.global_batch,
                     " samples are not the same for "
                     "each of ",
                     ranks, " ranks; expected a multiple of ", ranks));
  }
  question.strategies =
      strategiesOf(question.options, [&](const std::string &option) {
        return flags.compile.isGiven(option);
      });
  question.bind = [](CompileOptions &options) {
    return bindSizes(options, /*data=*/{});
  };
  return question;
}

Json trialJson(const Trial &trial) {
  Json json = {{"strategy", trial.strategy.text()}};
  json["micro_batch"] = trial.micro_batch;
  json["largest_micro_batch"] = trial.largest;
  json["accumulate"] = trial.accumulate;
  json["device_bytes"] = trial.device_bytes;
  json["step_seconds"] = trial.seconds;
  json["samples_per_second"] = trial.samples_per_second;
  json["bound"] = trial.bound;
  return json;
}

/// Returns a trial that did not fit, and what would make it fit.
Json rejectedJson(const Trial &trial, const Advice &advice) {
  Json json = {{"strategy", trial.strategy.text()},
               {"rejected", trial.rejected}};
  if (const Trial *nearest = nearestThatFits(trial, advice)) {
    json["fits_with"] =
        absl::StrJoin(changesBetween(trial.strategy, nearest->strategy), " ");
    json["samples_per_second"] = nearest->samples_per_second;
  }
  return json;
}

std::string rejectedText(const Trial &trial, const Advice &advice) {
  std::string text =
      absl::StrCat(trial.strategy.text(), " does not fit: ", trial.rejected);
  if (const Trial *nearest = nearestThatFits(trial, advice)) {
    absl::StrAppend(
        &text, "; it does with ",
        absl::StrJoin(changesBetween(trial.strategy, nearest->strategy), " "),
        ", ", simulate::rateText(nearest->samples_per_second),
        " samples a second");
  }
  return text;
}

std::string optionsText(const Trial &trial) {
  std::string text =
      absl::StrCat(trial.strategy.text(), " --micro-batch ", trial.micro_batch);
  if (trial.accumulate > 1) {
    absl::StrAppend(&text, " --accumulate ", trial.accumulate);
  }
  return text;
}

/// Lists the options that say what to advise, and are none of compile.
const std::set<std::string> kAdviceOnly = {
    "machine",      "nodes", "ranks-per-node", "what-if",
    "global-batch", "all",   "json",           "deepspeed",
    "target",       "zero",  "recompute",      "offload-optimizer",
    "offload-param"};

/// Returns the command that compiles a trial.
std::string commandText(Flags &flags, const Question &question,
                        const Trial &trial) {
  return absl::StrCat(
      "zerograph compile ", quoted(question.options.model),
      " -o PLAN --target ", question.options.target, " ",
      absl::StrJoin(optionsAsGiven(flags.command, kAdviceOnly), " "), " ",
      optionsText(trial));
}

/// Writes the file of a trial, if one is wanted.
absl::Status writeDeepSpeedFile(const Flags &flags, const Advice &advice) {
  if (flags.deepspeed.empty() || advice.trials.empty()) {
    return absl::OkStatus();
  }
  const Trial &best = advice.trials.front();
  std::map<std::string, std::string> given = optionsGiven(flags.command);
  for (const std::string &name : kAdviceOnly) {
    given.erase(name);
  }
  for (const auto &[option, value] : best.strategy.settings()) {
    given[option] = value;
  }
  given["micro-batch"] = absl::StrCat(best.micro_batch);
  given["accumulate"] = absl::StrCat(best.accumulate);
  config::Written written = config::writeDeepSpeed(given);
  for (const std::string &note : written.notes) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  ZG_ASSIGN_OR_RETURN(auto file,
                      NewFile::create(flags.deepspeed, written.json.size()));
  ZG_RETURN_IF_ERROR(file->write(0, written.json.size(), written.json.data()));
  return file->commit();
}

void print(const Advice &advice, const Question &question, Flags &flags) {
  bool all = flags.all;
  if (!advice.trials.empty()) {
    std::vector<std::vector<std::string>> lines = {{"options", "memory", "step",
                                                    "samples a second",
                                                    "bound by", "fits up to"}};
    for (const Trial &trial : advice.trials) {
      if (all || lines.size() <= kShown) {
        lines.push_back(
            {optionsText(trial), options::sizeText(trial.device_bytes),
             absl::StrFormat("%.3g s", trial.seconds),
             simulate::rateText(trial.samples_per_second), trial.bound,
             absl::StrCat("micro-batch ", trial.largest)});
      }
    }
    std::printf(
        "%s on %u ranks, %u a node, of %s: fastest first\n\n%s",
        question.options.model.c_str(), question.cluster.ranks(),
        question.cluster.ranks_per_node, question.machine.name.c_str(),
        alignedText(lines, {false, true, true, true, false, false}).c_str());
  }
  size_t shown = all || advice.trials.empty()
                     ? advice.rejected.size()
                     : std::min<size_t>(3, advice.rejected.size());
  for (size_t i = 0; i < shown; ++i) {
    std::printf("%s%s\n", i == 0 && !advice.trials.empty() ? "\n" : "",
                rejectedText(advice.rejected[i], advice).c_str());
  }
  if (shown < advice.rejected.size()) {
    std::printf("and %zu more do not fit (--all)\n",
                advice.rejected.size() - shown);
  }
  if (!advice.trials.empty()) {
    std::printf("\nnext: %s; zerograph report PLAN --machine %s -o FILE.html "
                "shows it\n",
                commandText(flags, question, advice.trials.front()).c_str(),
                quoted(flags.machine.source()).c_str());
  }
}

absl::StatusOr<int> run(Flags &flags, const std::string &model) {
  ZG_RETURN_IF_ERROR(checkInputFile(model, Input::Model));
  if (!flags.deepspeed.empty()) {
    ZG_RETURN_IF_ERROR(checkOutputPath(flags.deepspeed));
    ZG_RETURN_IF_ERROR(checkNotRead("--deepspeed", flags.deepspeed,
                                    {model, flags.machine.source()}));
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
  ZG_ASSIGN_OR_RETURN(Advice advice, advise(question));
  ZG_RETURN_IF_ERROR(writeDeepSpeedFile(flags, advice));
  if (flags.json) {
    Json json = {{"machine", question.machine.name},
                 {"target", question.options.target},
                 {"trials", Json::array()},
                 {"rejected", Json::array()}};
    for (const Trial &trial : advice.trials) {
      json["trials"].push_back(trialJson(trial));
    }
    for (const Trial &trial : advice.rejected) {
      json["rejected"].push_back(rejectedJson(trial, advice));
    }
    std::printf("%s\n", json.dump(2).c_str());
  } else {
    print(advice, question, flags);
  }
  return advice.trials.empty() ? 1 : 0;
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
