//===- Checkpoints.cpp - `checkpoint list|verify|convert` -----------------===//

#include "runtime/base/Text.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Consolidate.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Verify.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/OptionTable.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <memory>
#include <set>

namespace zerograph {
namespace {

struct ConvertFlags {
  std::string checkpoint, output, names, type;
};

/// Writes the weights of one checkpoint, or of the newest in a folder.
absl::StatusOr<int> convertCheckpoint(const ConvertFlags &flags) {
  for (const char *torch : {".pt", ".pth"}) {
    if (absl::EndsWith(flags.output, torch)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--output ", flags.output,
          ": it writes .safetensors; Zerograph's Python package writes what "
          "torch.load reads: zerograph.convert.checkpoint_to_torch('",
          flags.checkpoint, "', '", flags.output, "')"));
    }
  }
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> paths,
                      checkpointsAt(flags.checkpoint));
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<Checkpoint> checkpoint,
                      Checkpoint::open(paths.back()));
  std::optional<plan::ElementType> type;
  if (!flags.type.empty()) {
    type = safetensorsType(flags.type);
  }
  StateDictNames names;
  if (!flags.names.empty()) {
    ZG_ASSIGN_OR_RETURN(names, StateDictNames::read(flags.names));
  }
  ZG_ASSIGN_OR_RETURN(uint64_t parameters,
                      consolidate(*checkpoint, flags.output, type, names));
  std::set<std::string> initializers;
  for (const CheckpointTensor &tensor : checkpoint->index().tensors) {
    initializers.insert(tensor.name);
  }
  if (std::string others = names.others(initializers); !others.empty()) {
    printFindings({}, {others});
  }
  absl::PrintF("%s: %u parameters of %s, after %u steps\n", flags.output,
               parameters, checkpoint->path(), checkpoint->index().run.steps);
  return 0;
}

/// Adds the action `convert` to the command `checkpoint`.
void addConvertCheckpoint(CommandLine &line, CLI::App &command) {
  CLI::App &action = line.addTo(
      command, "convert", "Writes the weights of a checkpoint as one file");
  auto flags = std::make_shared<ConvertFlags>();
  action
      .add_option("DIR", flags->checkpoint,
                  "A checkpoint, or a folder whose newest it is")
      ->required();
  action
      .add_option("-o,--output", flags->output,
                  ".safetensors, as --save-weights writes it")
      ->type_name("FILE")
      ->required();
  action
      .add_option("--names", flags->names,
                  "what PyTorch's state_dict() calls the tensors of the model, "
                  "and which are transposed; default: the same")
      ->type_name("MAP.json");
  action
      .add_option("--type", flags->type,
                  "rounds weights to this type; default: as they are")
      ->type_name("F32|F16|BF16")
      ->transform(checks::oneOf({"F32", "F16", "BF16"}).validator);
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
