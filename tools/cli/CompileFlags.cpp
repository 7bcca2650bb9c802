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
#include "tools/cli/OffloadFlags.h"
#include "tools/cli/OptimizerFlags.h"
#include "tools/cli/PrecisionFlags.h"
#include "tools/cli/ScheduleFlags.h"

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
  for (config::Does does : {config::Does::Differently, config::Does::NoEffect,
                            config::Does::OutOfScope}) {
    std::vector<std::string> names;
    for (const config::Meaning &meaning : config.meanings) {
      if (meaning.does == does && meaning.asks) {
        names.push_back(meaning.key);
      }
    }
    if (!names.empty()) {
      say(Matter::Run,
          absl::StrCat(path, ": ", nameOf(does), ": ", listOf(names, 10),
                       "; 'zerograph explain ", path, "' says ",
                       does == config::Does::Differently ? "how" : "why"));
    }
  }
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

std::string CompileFlags::device() const {
  return options.target.substr(0, options.target.find(':'));
}

bool CompileFlags::isGiven(const std::string &option) const {
  const CLI::Option *found = group->get_option_no_throw(option);
  return found != nullptr && found->count() > 0;
}

void CompileFlags::sayWithoutEffect() const {
  for (const char *option : {"--prefetch", "--persistence-threshold"}) {
    if (isGiven(option) && options.zero_stage < 3) {
      warn(absl::StrCat(option, " has no effect with --zero ",
                        options.zero_stage, "; it is for --zero 3"));
    }
  }
  bool library =
      options.matmul == "library" || options.convolution == "library";
  if (options.allow_tf32 &&
      (options.target.rfind("cuda", 0) != 0 || !library)) {
    warn(absl::StrCat("--allow-tf32 has no effect with --target ",
                      options.target, " and --matmul ", options.matmul,
                      "; it is for products and convolutions by cuda's "
                      "libraries"));
  }
}

absl::Status CompileFlags::checkReduce() const {
  if (options.reduce != "last") {
    return absl::OkStatus();
  }
  if (options.zero_stage > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--reduce last with --zero ", options.zero_stage,
        ": each rank would keep whole gradients from the first micro-batch to "
        "the last, which --zero ",
        options.zero_stage,
        " is there to avoid; give --reduce each, the default, or --zero 1"));
  }
  bool alone = isGiven("--ranks") && options.ranks == 1;
  if (options.accumulate == 1 || alone) {
    warn(absl::StrCat("--reduce last has no effect with ",
                      alone ? "--ranks 1: there is nobody to reduce with"
                            : "--accumulate 1: there is one reduction a step"));
  }
  return absl::OkStatus();
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

absl::Status CompileFlags::checkLoss() {
  const std::string &kind = options.added_loss;
  bool classes = kind == "cross_entropy" || kind == "nll";
  if (!kind.empty() && isGiven("--loss-output")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--loss ", kind,
                     " adds a loss, and --loss-output names "
                     "one that the model has: give one of them"));
  }
  const struct {
    const char *option, *takes;
    bool fits;
  } kRows[] = {
      {"--loss-on", "--loss", !kind.empty()},
      {"--loss-dims", "--loss", !kind.empty()},
      {"--labels", "--loss", !kind.empty()},
      {"--shift-labels", "--loss cross_entropy or nll", classes},
      {"--ignore-index", "--loss cross_entropy or nll", classes},
      {"--label-smoothing", "--loss cross_entropy", kind == "cross_entropy"},
      {"--class-weights", "--loss cross_entropy, nll or bce_with_logits",
       classes || kind == "bce_with_logits"},
  };
  for (const auto &row : kRows) {
    if (isGiven(row.option) && !row.fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          row.option, " is for ", row.takes,
          kind.empty() ? ", which is not given"
                       : absl::StrCat("; ", kind, " does not use it")));
    }
  }
  if (!kind.empty() && !classes && options.loss_mean == "tokens") {
    warn(absl::StrCat("--loss-mean tokens has no effect with --loss ", kind,
                      ", which counts as many numbers in each micro-batch"));
    options.loss_mean = "micro-batches";
  }
  return absl::OkStatus();
}

absl::Status CompileFlags::checkLora() const {
  for (const std::string &text : options.lora) {
    options::Lora lora = options::parseLora(text);
    if (!lora.error.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--lora ", text, ": ", lora.error));
    }
  }
  if (options.lora.empty() && isGiven("--lora-alpha")) {
    return absl::InvalidArgumentError(
        "--lora-alpha is for --lora, which is not given");
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
    if (decidesRun(setting.option)) {
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
  ZG_RETURN_IF_ERROR(checkLoss());
  ZG_RETURN_IF_ERROR(checkLora());
  ZG_RETURN_IF_ERROR(checkReduce());
  ZG_RETURN_IF_ERROR(checkOffloadOptions(options));
  auto given = [&](const std::string &option) { return isGiven(option); };
  ZG_RETURN_IF_ERROR(checkOptimizerOptions(options, given));
  if (steps && !options.total_steps) {
    options.total_steps = std::max<int64_t>(1, int64_t(*steps));
  }
  ZG_RETURN_IF_ERROR(checkScheduleOptions(options, given));
  ZG_RETURN_IF_ERROR(checkPrecisionOptions(options, given));
  options.own_precision = !isGiven("--precision");
  sayWithoutEffect();
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
