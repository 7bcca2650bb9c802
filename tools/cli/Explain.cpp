//===- Explain.cpp - `explain CONFIG [MODEL]`, or of options --------------===//

#include "config/Write.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "runtime/plan/Describe.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileFlags.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/ConfigFile.h"
#include "tools/cli/ModelFacts.h"
#include "tools/cli/OptimizerFlags.h"
#include "tools/cli/OptionTable.h"
#include "tools/cli/TemporaryFolder.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include <cstdio>

namespace zerograph {
namespace {

using config::KeySupport;
using config::Setting;
using config::TranslatedKey;

struct ExplainFlags {
  explicit ExplainFlags(CLI::App &command) : command(command) {
    command.add_option("FILE", files,
                       "a DeepSpeed or Accelerate file, and MODEL.onnx; "
                       "without: writes the DeepSpeed file of the options");
    command
        .add_option("--like", like,
                    "transformers: what is auto in a DeepSpeed file is what "
                    "Transformers' Trainer fills in by default")
        ->type_name("transformers")
        ->transform(checks::oneOf({"transformers"}).validator);
    compile.emplace(command, kTrains);
    CLI::Option_group *group =
        command.add_option_group("train", "Training options");
    addOptions(*group, kTrains, train);
    for (CLI::Option *option : group->get_options()) {
      option->required(false); // nothing is trained
    }
  }

  CLI::App &command;
  std::optional<CompileFlags> compile;
  options::Train train;
  std::vector<std::string> files;
  std::string like;
};

/// Says what a key has become, and how to class it: one that its option does
/// not take is refused, and one has no effect if all its options were given
/// otherwise.
std::pair<KeySupport, std::string>
told(CLI::App &command, const ConfigFile &file, const TranslatedKey &meaning) {
  KeySupport does = meaning.does;
  std::vector<std::string> parts;
  size_t overruled = 0;
  for (size_t index : meaning.settings) {
    const Setting &setting = file.config.settings[index];
    if (!file.overruled[index].empty()) {
      parts.push_back(
          absl::StrCat("the command line's ", file.overruled[index], " wins"));
      ++overruled;
      continue;
    }
    if (file.refused[index].empty()) {
      parts.push_back(asOption(command, setting.option, setting.value));
      continue;
    }
    parts.push_back(file.refused[index]);
    if (!setting.by_default) {
      does = KeySupport::Refused;
    }
  }
  if (overruled > 0 && overruled == meaning.settings.size()) {
    does = KeySupport::NoEffect;
  }
  if (!meaning.text.empty()) {
    parts.push_back(meaning.text);
  }
  return {does, absl::StrJoin(parts, "; ")};
}

void printKeys(CLI::App &command, const ConfigFile &file) {
  if (!file.config.unknown.empty()) { // most often misspelt
    absl::PrintF("\nunknown\n  %s\n",
                 absl::StrJoin(file.config.unknown, "\n  "));
  }
  const std::vector<TranslatedKey> &all = file.config.meanings;
  std::vector<std::pair<KeySupport, std::string>> texts;
  size_t width = 0;
  for (const TranslatedKey &meaning : all) {
    texts.push_back(told(command, file, meaning));
    width = std::max(width, meaning.key.size() + meaning.value.size());
  }
  constexpr size_t kMost = 56;
  width = std::min(width, kMost) + 3;
  for (KeySupport does :
       {KeySupport::Applied, KeySupport::Differently, KeySupport::NoEffect,
        KeySupport::OutOfScope, KeySupport::Refused}) {
    bool first = true;
    for (size_t i = 0; i < all.size(); ++i) {
      if (texts[i].first != does) {
        continue;
      }
      if (first) {
        absl::PrintF("\n%s\n", std::string(nameOf(does)));
        first = false;
      }
      std::string key = absl::StrCat(all[i].key, " = ", all[i].value);
      absl::PrintF("  %-*s  %s\n", int(width), key, texts[i].second);
    }
  }
}

/// Prints the command that does the same without the file.
void printCommand(const ExplainFlags &flags, const std::string &model,
                  const config::Known &known) {
  std::vector<std::string> parts = {
      "zerograph train", model.empty() ? "MODEL.onnx" : quoted(model)};
  for (std::string &option :
       optionsAsGiven(flags.command, {"config", "like"})) {
    parts.push_back(std::move(option));
  }
  if (flags.train.data.empty()) {
    parts.push_back("--data DATA");
  }
  bool sized = flags.compile->isGiven("--micro-batch") ||
               flags.compile->isGiven("--dim") || known.model_batch;
  if (!sized) {
    parts.push_back("--micro-batch N");
  }
  if (flags.compile->needsFolder() && flags.train.nvme_path.empty()) {
    parts.push_back("--nvme-path DIR");
  }
  absl::PrintF("\nthe same by options\n  %s\n", absl::StrJoin(parts, " "));
}

/// Prints what the plan of the options needs, where they are all that it takes.
absl::Status printPlan(const ExplainFlags &flags, CompileOptions options) {
  ZG_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::make());
  ZG_ASSIGN_OR_RETURN(std::optional<ExampleArrays> example,
                      exampleOf(options.model, flags.train.data));
  absl::StatusOr<CompileResult> made =
      compileModel(std::move(options), example, folder.path() + "/p");
  if (!made.ok()) {
    absl::PrintF("\nnote: there is no plan to look at: %s\n",
                 made.status().message());
    return absl::OkStatus();
  }
  absl::PrintF("\nits plan\n");
  for (const plan::Arena &arena : made->plan.arenas()) {
    absl::PrintF("  %s bytes of a rank's %s memory\n", grouped(arena.bytes()),
                 nameOf(arena.space()));
  }
  for (const plan::Program &program : made->plan.programs()) {
    absl::PrintF("  %d steps of the program %s\n", program.steps_size(),
                 program.name());
  }
  return absl::OkStatus();
}

absl::StatusOr<int> explainFile(ExplainFlags &flags, const std::string &path,
                                const std::string &model) {
  config::Known known = knownOf(flags.command, std::nullopt);
  known.like_transformers = !flags.like.empty();
  if (!model.empty()) {
    ZG_RETURN_IF_ERROR(addModel(model, known));
  }
  ZG_ASSIGN_OR_RETURN(ConfigFile file, flags.compile->takeConfig(path, known));
  absl::PrintF("%s\n", path);
  printKeys(flags.command, file);
  absl::StatusOr<CompileOptions> checked;
  if (file.problems.empty()) {
    checked = flags.compile->resolve(kUnknownSteps);
    if (!checked.ok()) {
      file.problems.emplace_back(checked.status().message());
    }
  }
  if (!file.problems.empty()) {
    std::fflush(stdout);
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":\n  ", absl::StrJoin(file.problems, "\n  ")));
  }
  for (const std::string &note : file.notes) {
    absl::PrintF("\nnote: %s\n", note);
  }
  if (absl::Status folder = flags.compile->checkFolder(flags.train.nvme_path);
      !folder.ok()) {
    absl::PrintF("\nnote: to train, %s\n", folder.message());
  }
  if (!model.empty()) {
    checked->model = model;
    ZG_RETURN_IF_ERROR(printPlan(flags, *std::move(checked)));
  }
  printCommand(flags, model, known);
  return 0;
}

/// Adds the batch that the model fixes to what is given: the file of the
/// options has to do with nothing else of it.
absl::Status takeModel(const std::string &model,
                       std::map<std::string, std::string> &given) {
  config::Known known;
  ZG_RETURN_IF_ERROR(addModel(model, known));
  std::string fixed = known.model_batch ? absl::StrCat(*known.model_batch) : "";
  if (!fixed.empty() && given.emplace("micro-batch", fixed).second) {
    std::fprintf(stderr, "note: %s is for micro-batches of %s samples\n",
                 model.c_str(), fixed.c_str());
    return absl::OkStatus();
  }
  if (!fixed.empty() && given["micro-batch"] != fixed) {
    return absl::InvalidArgumentError(
        absl::StrCat("--micro-batch ", given["micro-batch"], ", but ", model,
                     " is for micro-batches of ", fixed, " samples"));
  }
  std::fprintf(stderr,
               "note: nothing of %s is in this file; 'zerograph explain FILE "
               "%s' says what its plan needs\n",
               model.c_str(), model.c_str());
  return absl::OkStatus();
}

absl::StatusOr<int> explainOptions(ExplainFlags &flags,
                                   const std::string &model) {
  ZG_RETURN_IF_ERROR(flags.compile->resolve(kUnknownSteps).status());
  std::map<std::string, std::string> given = optionsGiven(flags.command);
  if (!model.empty()) {
    ZG_RETURN_IF_ERROR(takeModel(model, given));
  }
  config::Written file = config::writeDeepSpeed(given);
  absl::PrintF("%s", file.json);
  sayOf(file);
  return 0;
}

absl::StatusOr<int> explain(ExplainFlags &flags) {
  std::string path, model;
  std::map<std::string, std::string> given = optionsGiven(flags.command);
  if (given.count("config") > 0) {
    path = given["config"];
  }
  for (const std::string &file : flags.files) {
    std::string &place = absl::EndsWith(file, ".onnx") ? model : path;
    if (!place.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, " and ", file, ": expected one configuration, and one model"));
    }
    place = file;
  }
  if (!path.empty()) {
    return explainFile(flags, path, model);
  }
  if (given.erase("like") > 0) {
    return absl::InvalidArgumentError(
        "--like says what auto means in a file: give a DeepSpeed file");
  }
  if (given.empty()) {
    return absl::InvalidArgumentError(
        "explain what? Give a DeepSpeed or Accelerate file, or options of "
        "'zerograph train'");
  }
  return explainOptions(flags, model);
}

} // namespace

void addExplain(CommandLine &line) {
  CLI::App &command = line.add(
      "explain", "Says what each key of a DeepSpeed or Accelerate file "
                 "means; writes the file of options");
  auto flags = std::make_shared<ExplainFlags>(command);
  line.onRun(command, [flags] { return explain(*flags); });
}

} // namespace zerograph
