//===- Checkpoints.cpp - `checkpoint list|verify|convert` -----------------===//

#include "runtime/base/Text.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Consolidate.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Verify.h"
#include "runtime/checkpoint/universal/AdoptUniversal.h"
#include "runtime/checkpoint/universal/WriteUniversal.h"
#include "runtime/plan/Verify.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/OptionTable.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <memory>
#include <set>

namespace zerograph {
namespace {

constexpr char kWeights[] = "weights";
constexpr char kUniversal[] = "deepspeed-universal";

struct ConvertFlags {
  std::string checkpoint, output, to, names, type, plan, weights;
  std::optional<uint64_t> seed, shuffle;
  bool torch_optimizer = false;
};

absl::StatusOr<StateDictNames> namesOf(const ConvertFlags &flags) {
  return flags.names.empty() ? StateDictNames()
                             : StateDictNames::read(flags.names);
}

/// Returns an error if an option is given that is none of `used`. `what` is
/// done.
absl::Status checkOptions(const ConvertFlags &flags, const std::string &what,
                          const std::set<std::string> &used) {
  for (const auto &[name, given] :
       {std::pair("--to", !flags.to.empty()),
        std::pair("--torch-optimizer", flags.torch_optimizer),
        std::pair("--type", !flags.type.empty()),
        std::pair("--plan", !flags.plan.empty()),
        std::pair("--load-weights", !flags.weights.empty()),
        std::pair("--seed", flags.seed.has_value()),
        std::pair("--shuffle", flags.shuffle.has_value())}) {
    if (given && used.count(name) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has no effect where ", what, ": leave it out"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> toWeights(const Checkpoint &checkpoint,
                              const ConvertFlags &flags) {
  ZG_RETURN_IF_ERROR(
      checkOptions(flags, "weights are written", {"--to", "--type"}));
  std::optional<plan::ElementType> type;
  if (!flags.type.empty()) {
    type = safetensorsType(flags.type);
  }
  ZG_ASSIGN_OR_RETURN(StateDictNames names, namesOf(flags));
  ZG_ASSIGN_OR_RETURN(uint64_t parameters,
                      consolidate(checkpoint, flags.output, type, names));
  std::set<std::string> initializers;
  for (const CheckpointTensor &tensor : checkpoint.index().tensors) {
    initializers.insert(tensor.name);
  }
  if (std::string others = names.others(initializers); !others.empty()) {
    printFindings({}, {others});
  }
  absl::PrintF("%s: %u parameters of %s, after %u steps\n", flags.output,
               parameters, checkpoint.path(), checkpoint.index().run.steps);
  return 0;
}

absl::StatusOr<int> toUniversal(const Checkpoint &checkpoint,
                                const ConvertFlags &flags) {
  ZG_RETURN_IF_ERROR(checkOptions(flags,
                                  "DeepSpeed's universal layout is written",
                                  {"--to", "--torch-optimizer"}));
  UniversalOptions options;
  options.torch_optimizer = flags.torch_optimizer;
  ZG_ASSIGN_OR_RETURN(options.names, namesOf(flags));
  ZG_ASSIGN_OR_RETURN(WrittenUniversal written,
                      writeUniversal(checkpoint, options, flags.output));
  printFindings({}, written.notes);
  absl::PrintF("%s: %u parameters of %s, after %u steps\n", written.path,
               written.parameters, checkpoint.path(),
               checkpoint.index().run.steps);
  return 0;
}

absl::StatusOr<int> fromUniversal(const ConvertFlags &flags) {
  ZG_RETURN_IF_ERROR(
      checkOptions(flags, flags.checkpoint + " is a checkpoint of DeepSpeed",
                   {"--plan", "--load-weights", "--seed", "--shuffle"}));
  if (flags.plan.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.checkpoint,
        " is a universal checkpoint of DeepSpeed: say by --plan for which plan "
        "it is to become one, as 'zerograph compile' makes it"));
  }
  ZG_ASSIGN_OR_RETURN(LoadedPlan loaded, readPlan(flags.plan));
  if (absl::Status status = verifyPlan(loaded.plan); !status.ok()) {
    return annotate(status, flags.plan);
  }
  AdoptOptions options;
  options.seed = flags.seed.value_or(0);
  options.shuffle = flags.shuffle;
  ZG_ASSIGN_OR_RETURN(options.names, namesOf(flags));
  if (!flags.weights.empty()) {
    ZG_ASSIGN_OR_RETURN(options.weights, readWeights(flags.weights));
  }
  ZG_ASSIGN_OR_RETURN(UniversalCheckpoint universal,
                      UniversalCheckpoint::open(flags.checkpoint));
  ZG_ASSIGN_OR_RETURN(AdoptedCheckpoint adopted,
                      adoptUniversal(loaded, universal, options, flags.output));
  printFindings({}, adopted.notes);
  absl::PrintF("%s: %u tensors of %s, after %u steps of %u samples and %u "
               "updates\n",
               adopted.path, adopted.tensors, universal.path(),
               adopted.run.steps, adopted.run.samples_per_step,
               adopted.run.updates);
  return 0;
}

/// Converts one checkpoint, or the newest of a folder.
absl::StatusOr<int> convertCheckpoint(const ConvertFlags &flags) {
  if (UniversalCheckpoint::isAt(flags.checkpoint)) {
    return fromUniversal(flags);
  }
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> paths,
                      checkpointsAt(flags.checkpoint));
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<Checkpoint> checkpoint,
                      Checkpoint::open(paths.back()));
  return flags.to == kUniversal ? toUniversal(*checkpoint, flags)
                                : toWeights(*checkpoint, flags);
}

/// Adds the action `convert` to the command `checkpoint`.
void addConvertCheckpoint(CommandLine &line, CLI::App &command) {
  CLI::App &action = line.addTo(
      command, "convert",
      "Writes the weights of a checkpoint as one file, or a checkpoint for "
      "DeepSpeed, or from one of DeepSpeed's");
  auto flags = std::make_shared<ConvertFlags>();
  action
      .add_option("DIR", flags->checkpoint,
                  "A checkpoint, or a folder whose newest it is; ours, or one "
                  "of DeepSpeed in the universal layout")
      ->required();
  action
      .add_option("-o,--output", flags->output,
                  "of weights, .safetensors as --save-weights writes it, or "
                  ".pt as torch.save does; else a folder of checkpoints")
      ->type_name("FILE|DIR")
      ->required();
  action
      .add_option("--to", flags->to,
                  "of one of ours: its weights (the default), or DeepSpeed's "
                  "universal layout, with what the optimizer keeps")
      ->type_name("weights|deepspeed-universal")
      ->transform(checks::oneOf({kWeights, kUniversal}).validator);
  action
      .add_option("--names", flags->names,
                  "what PyTorch's state_dict() calls the tensors of the model, "
                  "and which are transposed; default: the same")
      ->type_name("MAP.json");
  action.add_flag("--torch-optimizer", flags->torch_optimizer,
                  "of the universal layout: for ZeRO 3 with an optimizer of "
                  "torch.optim instead of one of DeepSpeed's own");
  action
      .add_option("--type", flags->type,
                  "rounds weights to this type; default: as they are")
      ->type_name("F32|F16|BF16")
      ->transform(checks::oneOf({"F32", "F16", "BF16"}).validator);
  action
      .add_option("--plan", flags->plan,
                  "of one of DeepSpeed's: the plan whose runs will go on from "
                  "it")
      ->type_name("PLAN");
  action
      .add_option("--load-weights", flags->weights,
                  "of one of DeepSpeed's: weights that it does not have, such "
                  "as frozen ones, .safetensors or .pt by state_dict's names")
      ->type_name("FILE");
  action
      .add_option("--seed", flags->seed,
                  "of one of DeepSpeed's: with which runs will go on; default: "
                  "0")
      ->type_name("S");
  action
      .add_option("--shuffle", flags->shuffle,
                  "the same of the order of samples; default: that of the "
                  "files")
      ->type_name("SEED");
  line.onRun(action, [flags] { return convertCheckpoint(*flags); });
}

absl::StatusOr<int> listCheckpoints(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> paths, checkpointsAt(path));
  absl::PrintF("%10s  %-20s  %5s  %18s  %s\n", "step", "time", "ranks", "bytes",
               "model");
  std::vector<std::string> problems;
  for (const std::string &one : paths) {
    absl::StatusOr<std::unique_ptr<Checkpoint>> opened = Checkpoint::open(one);
    if (!opened.ok()) {
      problems.push_back(std::string(opened.status().message()));
      continue;
    }
    const CheckpointRun &run = (*opened)->index().run;
    absl::PrintF("%10u  %-20s  %5u  %18s  %s\n", run.steps, run.time, run.ranks,
                 grouped((*opened)->bytes()), run.model);
  }
  if (!problems.empty()) {
    return absl::DataLossError(absl::StrJoin(problems, "\n  "));
  }
  return 0;
}

absl::StatusOr<int> verifyCheckpoints(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> paths, checkpointsAt(path));
  std::vector<std::string> problems;
  for (const std::string &one : paths) {
    absl::StatusOr<VerifiedCheckpoint> verified = verifyCheckpoint(one);
    if (!verified.ok()) {
      problems.push_back(std::string(verified.status().message()));
      continue;
    }
    absl::PrintF("%s: %u tensors in %u pieces of %u ranks, %s bytes verified\n",
                 one, verified->tensors, verified->pieces, verified->run.ranks,
                 grouped(verified->bytes));
  }
  if (!problems.empty()) {
    return absl::DataLossError(absl::StrCat(
        absl::StrJoin(problems, "\n  "),
        "\n  a damaged checkpoint cannot be mended: go on from another one"));
  }
  return 0;
}

} // namespace

void addCheckpoint(CommandLine &line) {
  CLI::App &command =
      line.add("checkpoint", "Lists, verifies and converts checkpoints");
  auto add = [&](const char *name, const char *help, const char *what,
                 absl::StatusOr<int> (*run)(const std::string &)) {
    CLI::App &action = line.addTo(command, name, help);
    auto path = std::make_shared<std::string>();
    action.add_option("DIR", *path, what)->required();
    line.onRun(action, [path, run] { return run(*path); });
  };
  add("list", "Lists the checkpoints in a folder", "A folder of checkpoints",
      listCheckpoints);
  add("verify", "Reads every byte and compares it with what was written",
      "A checkpoint, or a folder of them", verifyCheckpoints);
  addConvertCheckpoint(line, command);
  line.onRun(command, [] {
    return absl::InvalidArgumentError(
        "say what to do: list, verify or convert");
  });
}

} // namespace zerograph
