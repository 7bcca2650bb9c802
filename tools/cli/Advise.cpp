//===- Advise.cpp - `advise MODEL.onnx` -----------------------------------===//

#include "runtime/base/OutputPath.h"
#include "runtime/base/Text.h"
#include "runtime/io/NewFile.h"
#include "tools/cli/AdviseModel.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/ConfigFile.h"
#include "tools/cli/GivenOptions.h"
#include "tools/cli/InputFile.h"

#include "absl/strings/str_join.h"

#include <cstdio>
#include <memory>
#include <unistd.h>

namespace zerograph {
namespace {

struct Flags : AdviseFlags {
  explicit Flags(CLI::App &command) : AdviseFlags(command) {
    command.add_option("--deepspeed", deepspeed,
                       "FILE.json: writes DeepSpeed's file of the fastest");
    command.add_flag("--json", json, "all of it, for programs");
  }

  std::string deepspeed;
  bool json = false;
};

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

void print(const ModelAdvice &found, Flags &flags) {
  const std::vector<RanksAdvice> &all = found.ranks;
  const Question &question = found.question;
  const RanksAdvice &first = all.front();
  std::string text = all.size() == 1 ? adviceText(first, flags.wishes)
                                     : ranksText(all, flags.wishes);
  const RanksAdvice *best = found.fastest();
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

/// Says what became of a strategy.
void sayTried(uint32_t ranks, const Trial &trial) {
  std::string text =
      trial.micro_batch
          ? simulate::rateText(trial.samples_per_second) + " samples a second"
          : trial.rejected;
  std::fprintf(stderr, "tried %s, %s: %s\n", counted(ranks, "rank").c_str(),
               trial.strategy.text().c_str(), text.c_str());
}

absl::StatusOr<int> run(Flags &flags, const std::string &model) {
  if (!flags.deepspeed.empty()) {
    ZG_RETURN_IF_ERROR(checkOutputPath(flags.deepspeed));
    ZG_RETURN_IF_ERROR(checkNotRead("--deepspeed", flags.deepspeed,
                                    {model, flags.machine.source(),
                                     optionsGiven(flags.command)["config"]}));
  }
  const Tried tried = isatty(STDERR_FILENO) ? Tried(sayTried) : Tried();
  const std::optional<ExampleArrays> none;
  ZG_ASSIGN_OR_RETURN(ModelAdvice found,
                      adviseModel(flags, model, none, tried));
  const RanksAdvice *best = found.fastest();
  if (best && !flags.deepspeed.empty()) {
    ZG_RETURN_IF_ERROR(writeDeepSpeedFile(flags, best->cluster.ranks(),
                                          best->advice.trials.front()));
  }
  if (flags.json) {
    std::printf("%s\n", found.json(flags.wishes).dump(2).c_str());
  } else {
    print(found, flags);
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
