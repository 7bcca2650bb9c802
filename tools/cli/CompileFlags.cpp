//===- CompileFlags.cpp - the options of compile --------------------------===//

#include "tools/cli/CompileFlags.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "options/Lora.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "tools/cli/ModelFacts.h"
#include "tools/cli/Notes.h"
#include "tools/cli/OptimizerFlags.h"
#include "tools/cli/OptionRules.h"

#include <algorithm>
#include <cmath>

namespace zerograph {

namespace {

/// Splits "NAME=REST" into its halves; an error where there is no such thing.
absl::StatusOr<std::pair<std::string, std::string>>
split(const char *option, const std::string &text, const char *expected) {
  std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.first.empty() || parts.second.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " ", text, ": expected ", expected));
  }
  return parts;
}

/// Says which keys ask for something and do another thing, or nothing.
void sayNotAsWritten(const std::string &path, const config::Config &config) {
  for (config::KeySupport does :
       {config::KeySupport::Differently, config::KeySupport::NoEffect,
        config::KeySupport::OutOfScope}) {
    std::vector<std::string> names;
    for (const config::TranslatedKey &meaning : config.meanings) {
      if (meaning.does == does && meaning.asks) {
        names.push_back(meaning.key);
      }
    }
    if (!names.empty()) {
      say(Matter::Run,
          absl::StrCat(path, ": ", nameOf(does), ": ", listOf(names, 10),
                       "; 'zerograph explain ", path, "' says ",
                       does == config::KeySupport::Differently ? "how"
                                                               : "why"));
    }
  }
}

/// Returns the option by which a plan keeps something in files, for sure;
/// empty: none, or only the plan itself tells.
std::string offloadInFiles(const options::Compile &options) {
  bool sums = options.offload_gradients != "none" &&
              (options.accumulate > 1 || options.global_batch > 0);
  // Plain SGD keeps nothing but masters, if sums of gradients are offloaded.
  bool states = options.optimizer != "sgd" || options.momentum > 0 || sums;
  bool all = options.offload_ratio == 1; // of them, so some
  return options.offload_optimizer == "nvme" && states && all
             ? "--offload-optimizer"
         : options.offload_param == "nvme" && options.persistence_threshold == 0
             ? "--offload-param"
         : options.offload_gradients == "nvme" && sums ? "--offload-gradients"
                                                       : "";
}

absl::Status givenTwice(const char *option, const std::string &name) {
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", name, " is given twice"));
}

} // namespace

absl::Status bindNames(CompileOptions &options) {
  constexpr char kDim[] = "NAME=SIZE with a positive SIZE";
  options.dims.clear();
  options.inputs.clear();
  if (!absl::SimpleAtoi(options.micro_batch, &options.samples)) {
    options.samples = 0; // "", "auto"
  }
  for (const std::string &text : options.dim) {
    ZG_ASSIGN_OR_RETURN(auto parts, split("--dim", text, kDim));
    int64_t size;
    if (!absl::SimpleAtoi(parts.second, &size) || size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dim ", text, ": expected ", kDim));
    }
    if (!options.dims.emplace(parts.first, size).second) {
      return givenTwice("--dim", parts.first);
    }
  }
  for (const std::string &text : options.input) {
    ZG_ASSIGN_OR_RETURN(auto parts, split("--input", text, "NAME=VALUE"));
    if (!options.inputs.insert(parts).second) {
      return givenTwice("--input", parts.first);
    }
  }
  return absl::OkStatus();
}

CompileFlags::CompileFlags(CLI::App &command, OptionCommands as)
    : command(command) {
  group = command.add_option_group("compile", "Compile options");
  addOptions(*group, as, static_cast<options::Compile &>(options));
}

std::string CompileFlags::given() const {
  std::vector<std::string> names;
  for (const CLI::Option *option : group->get_options()) {
    if (option->count() > 0) {
      names.push_back(option->get_name());
    }
  }
  return absl::StrJoin(names, ", ");
}

bool CompileFlags::isGiven(const std::string &option) const {
  const CLI::Option *found = group->get_option_no_throw(option);
  return found != nullptr && found->count() > 0;
}

bool CompileFlags::needsFolder() const {
  return !offloadInFiles(options).empty();
}

absl::Status CompileFlags::checkFolder(const std::string &folder) const {
  std::string option = offloadInFiles(options);
  if (option.empty() || !folder.empty()) {
    return absl::OkStatus();
  }
  return withKeys(absl::InvalidArgumentError(absl::StrCat(
      option, " nvme needs --nvme-path DIR, a folder on an NVMe disk")));
}

absl::Status CompileFlags::checkLora() const {
  for (const std::string &text : options.lora) {
    options::Lora lora = options::parseLora(text);
    if (!lora.error.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--lora ", text, ": ", lora.error));
    }
  }
  return std::isfinite(options.lora_alpha)
             ? absl::OkStatus()
             : absl::InvalidArgumentError("--lora-alpha: expected a finite "
                                          "number");
}

absl::StatusOr<ConfigFile>
CompileFlags::takeConfig(const std::string &path, const config::Known &known) {
  ZG_ASSIGN_OR_RETURN(ConfigFile file, applyConfig(command, path, known));
  from_file = file.config.settings;
  return file;
}

std::map<std::string, std::string> CompileFlags::runSettings() const {
  std::map<std::string, std::string> settings;
  for (const config::Setting &setting : from_file) {
    if (isOption<options::Train>(setting.option)) {
      settings[setting.option] = setting.value;
    }
  }
  return settings;
}

absl::Status CompileFlags::readConfig(const std::string &model,
                                      std::optional<unsigned> processes) {
  if (options.config.empty()) {
    return absl::OkStatus();
  }
  const std::string path = options.config;
  config::Known known = knownOf(command, processes);
  ZG_RETURN_IF_ERROR(addModel(model, known));
  ZG_ASSIGN_OR_RETURN(ConfigFile file, takeConfig(path, known));
  for (const std::string &note : file.notes) {
    say(Matter::Run, absl::StrCat(path, ": ", note));
  }
  if (!file.problems.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":\n  ", absl::StrJoin(file.problems, "\n  ")));
  }
  sayNotAsWritten(path, file.config);
  return absl::OkStatus();
}

absl::StatusOr<CompileOptions>
CompileFlags::resolve(std::optional<uint64_t> steps) {
  absl::StatusOr<CompileOptions> checked = check(steps);
  return checked.ok() ? checked : withKeys(checked.status());
}

/// Names, for an option that nobody wrote, the key that means it.
absl::Status CompileFlags::withKeys(const absl::Status &status) const {
  std::string message(status.message());
  for (const config::Setting &setting : from_file) {
    if (absl::StrContains(message, absl::StrCat("--", setting.option, " "))) {
      absl::StrAppend(&message, "\n  --", setting.option, " is ", setting.key);
    }
  }
  return absl::Status(status.code(), message);
}

absl::StatusOr<CompileOptions>
CompileFlags::check(std::optional<uint64_t> steps) {
  ZG_RETURN_IF_ERROR(bindNames(options));
  if (int64_t bytes; absl::SimpleAtoi(options.units, &bytes) && bytes < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--units ", options.units, ": expected a PATTERN or positive BYTES"));
  }
  ZG_RETURN_IF_ERROR(checkLora());
  ZG_ASSIGN_OR_RETURN(std::set<std::string> without_effect,
                      checkRules(command, options));
  if (without_effect.count("loss-mean") > 0) {
    options.loss_mean = options::Compile().loss_mean;
  }
  auto given = [&](const std::string &option) { return isGiven(option); };
  ZG_RETURN_IF_ERROR(checkOptimizerOptions(options, given));
  if (steps && !options.total_steps) {
    options.total_steps = std::max<int64_t>(1, int64_t(*steps));
  }
  ZG_RETURN_IF_ERROR(checkScheduleOptions(options, given));
  options.own_precision = !isGiven("--precision");
  options.open_accumulate = !isGiven("--accumulate");
  return options;
}

absl::Status CompileFlags::setRanks(CompileOptions &options,
                                    unsigned processes) const {
  if (isGiven("--ranks") && options.ranks != int64_t(processes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ranks ", options.ranks, ", but ", processes,
                     " processes were started, each of which is one rank: "
                     "leave --ranks out, or start ",
                     options.ranks));
  }
  options.ranks = processes;
  return absl::OkStatus();
}

} // namespace zerograph
