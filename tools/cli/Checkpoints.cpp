//===- Checkpoints.cpp - `checkpoint list|verify|convert` -----------------===//

#include "runtime/base/Text.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Verify.h"
#include "tools/cli/ConvertCheckpoint.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <memory>

namespace zerograph {
namespace {

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
