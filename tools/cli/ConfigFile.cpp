//===- ConfigFile.cpp - options from a configuration file -----------------===//

#include "tools/cli/ConfigFile.h"

#include "config/Read.h"
#include "runtime/base/Status.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"

namespace zerograph {
namespace {

std::optional<int64_t> numberGiven(const CLI::App &command, const char *name) {
  const CLI::Option *option = command.get_option_no_throw(name);
  int64_t number;
  return option != nullptr && option->count() > 0 &&
                 absl::SimpleAtoi(option->as<std::string>(), &number)
             ? std::optional(number)
             : std::nullopt;
}

/// Returns what the command line gives the option, where that is another value.
std::string overruling(CLI::App &command, const config::Setting &setting) {
  const CLI::Option *option = optionNamed(command, setting.option);
  if (option == nullptr || option->count() == 0) {
    return "";
  }
  std::string given = absl::StrJoin(option->results(), " ");
  return given == setting.value
             ? ""
             : absl::StrCat("--", setting.option, " ", given);
}

/// Names the keys that are auto and that no option decides, in one line; or is
/// empty.
std::string sayAutos(CLI::App &command, const std::vector<config::Auto> &all) {
  std::vector<std::string> ours, theirs, options;
  for (const config::Auto &one : all) {
    const CLI::Option *option = optionNamed(command, one.option);
    if (option != nullptr && option->count() == 0) {
      std::string name = one.key.substr(one.key.rfind('.') + 1);
      ours.push_back(absl::StrCat(name, " ", one.ours));
      theirs.push_back(one.theirs);
      options.push_back(absl::StrCat("--", one.option));
    }
  }
  return ours.empty()
             ? ""
             : absl::StrCat(
                   "auto is the default here: ", absl::StrJoin(ours, ", "),
                   "; Transformers fills in its arguments, by default ",
                   absl::StrJoin(theirs, ", "), ": give ",
                   absl::StrJoin(options, ", "),
                   "; 'zerograph explain --like transformers' says all of "
                   "them");
}

} // namespace

void sayOf(const config::Written &file) {
  for (const std::string &note : file.notes) {
    std::fprintf(stderr, "note: %s\n", note.c_str());
  }
  if (!file.without.empty()) {
    std::fprintf(stderr, "note: DeepSpeed has no key for --%s\n",
                 absl::StrJoin(file.without, ", --").c_str());
  }
}

config::Known knownOf(const CLI::App &command,
                      std::optional<unsigned> processes) {
  config::Known known;
  known.ranks = numberGiven(command, "--ranks");
  known.ranks_from = "--ranks";
  if (processes && !known.ranks) {
    known.ranks = *processes;
    known.ranks_from = "the number of processes that were started,";
  }
  known.micro_batch = numberGiven(command, "--micro-batch");
  known.accumulate = numberGiven(command, "--accumulate");
  known.global_batch = numberGiven(command, "--global-batch");
  known.stage = numberGiven(command, "--zero");
  known.options = optionsGiven(command);
  return known;
}

absl::StatusOr<ConfigFile> applyConfig(CLI::App &command,
                                       const std::string &path,
                                       const config::Known &known) {
  ConfigFile file;
  ZG_ASSIGN_OR_RETURN(file.config, config::read(path, known));
  file.problems = file.config.problems;
  file.notes = file.config.notes;
  for (const config::Setting &setting : file.config.settings) {
    std::string wins = overruling(command, setting);
    file.overruled.push_back(wins);
    if (!wins.empty()) {
      file.notes.push_back(
          absl::StrCat(wins, " of the command line wins over ", setting.key));
    }
    if (isOption<options::Train>(setting.option) &&
        optionNamed(command, setting.option) == nullptr) {
      file.notes.push_back(absl::StrCat(setting.key, " is for the run: train ",
                                        "PLAN --", setting.option, " ",
                                        setting.value));
      file.refused.push_back("");
      continue;
    }
    std::string refused = giveOption(command, setting.option, setting.value);
    file.refused.push_back(refused);
    if (refused.empty()) {
      continue;
    }
    std::string what = absl::StrCat(setting.key, ": ", refused);
    (setting.by_default ? file.notes : file.problems).push_back(what);
  }
  std::string autos = sayAutos(command, file.config.autos);
  if (!autos.empty()) {
    file.notes.push_back(autos);
  }
  return file;
}

} // namespace zerograph
