//===- CommandLine.cpp - a program of subcommands -------------------------===//

#include "tools/cli/CommandLine.h"

#include "runtime/backend/Backend.h"
#include "runtime/base/EditDistance.h"
#include "runtime/base/Version.h"
#include "runtime/comm/Launch.h"
#include "tools/cli/Notes.h"
#include "tools/cli/OptionTable.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>

namespace zerograph {
namespace {

void collectOptions(const CLI::App &command, std::vector<std::string> &names) {
  for (const CLI::Option *option : command.get_options()) {
    for (const std::string &name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  for (const CLI::App *group :
       command.get_subcommands([](const CLI::App *) { return true; })) {
    if (group->get_name().empty()) {
      collectOptions(*group, names);
    }
  }
}

/// Calls `see` with each option of a command that was given, and its values.
void forValues(
    const CLI::App &command,
    const std::function<void(const std::string &, const std::string &)> &see) {
  for (const CLI::Option *option : command.get_options()) {
    for (const std::string &value : option->results()) {
      see(option->get_name(), value);
    }
  }
  for (const CLI::App *group :
       command.get_subcommands([](const CLI::App *) { return true; })) {
    if (group->get_name().empty()) {
      forValues(*group, see);
    }
  }
}

/// Returns what is wrong where a value is "", as that of a shell's variable
/// that is not set, or where it is forgotten, so that the option after it was
/// taken for it; or nothing.
std::string forgottenValue(const CLI::App &command) {
  std::string wrong;
  forValues(command, [&](const std::string &name, const std::string &value) {
    if (value.empty()) {
      wrong = name + ": its value is empty";
    } else if (absl::StartsWith(value, "--")) {
      wrong = absl::StrCat(name, " needs a value; '", value, "' follows it");
    }
  });
  return wrong;
}

/// The names of options in DeepSpeed, PyTorch's launcher and others.
constexpr std::pair<const char *, const char *> kNamesElsewhere[] = {
    {"--batch-size", "--micro-batch"},
    {"--cpu-offload", "--offload-optimizer"},
    {"--device", "--target"},
    {"--gradient-accumulation-steps", "--accumulate"},
    {"--learning-rate", "--lr"},
    {"--max-steps", "--steps"},
    {"--nproc-per-node", "--ranks"},
    {"--num-gpus", "--ranks"},
    {"--num-train-epochs", "--epochs"},
    {"--output-dir", "--checkpoint"},
    {"--resume-from-checkpoint", "--resume"},
    {"--save-steps", "--every"},
    {"--save-total-limit", "--keep"},
    {"--stage", "--zero"},
    {"--tf32", "--allow-tf32"},
    {"--train-micro-batch-size-per-gpu", "--micro-batch"},
    {"--zero-stage", "--zero"},
};

/// Returns "; did you mean --zero?" or nothing.
std::string suggestion(const std::string &given,
                       const std::vector<std::string> &names) {
  std::string best;
  for (const auto &[elsewhere, here] : kNamesElsewhere) {
    bool known = std::find(names.begin(), names.end(), here) != names.end();
    if (known && absl::StrReplaceAll(given, {{"_", "-"}}) == elsewhere) {
      return absl::StrCat("; here it is ", here);
    }
  }
  // Short names have most letters the same by chance.
  size_t letters = given.size() - given.find_first_not_of('-');
  size_t least = std::min(letters / 2, given.size() / 3 + 1);
  for (const std::string &name : names) {
    // A name that was cut short stands for the longer one.
    bool cut = letters > 4 && absl::StartsWith(name, given);
    size_t edits = cut ? 0 : editDistance(given, name);
    if (edits <= least) {
      least = edits;
      best = name;
    }
  }
  return best.empty() ? "" : absl::StrCat("; did you mean ", best, "?");
}

/// Returns "--steps is 'x', expected 1 to 1024", for "--steps: Value x not in
/// range 1 to 1024"; leaves out a bound that nobody reaches. Empty for another
/// text.
std::string rangeMessage(const std::string &text) {
  std::vector<std::string> sides =
      absl::StrSplit(text, absl::MaxSplits(" not in range ", 1));
  std::vector<std::string> named =
      absl::StrSplit(sides.front(), absl::MaxSplits(": Value ", 1));
  if (sides.size() != 2 || named.size() != 2) {
    return "";
  }
  std::vector<std::string> bounds =
      absl::StrSplit(sides[1], absl::MaxSplits(" to ", 1));
  double most = 0;
  bool bounded =
      bounds.size() == 2 && absl::SimpleAtod(bounds[1], &most) && most < 1e9;
  // CLI11 writes "0.000000 to 1.000000" where numbers may have a fraction.
  auto shown = [](const std::string &bound) {
    double number = 0;
    return absl::SimpleAtod(bound, &number) ? absl::StrCat(number) : bound;
  };
  int64_t whole = 0;
  bool broken =
      !absl::StrContains(sides[1], '.') && !absl::SimpleAtoi(named[1], &whole);
  return absl::StrCat(
      named[0], " is '", named[1], "', expected ",
      broken ? "a whole number, " : "",
      bounded ? absl::StrCat(shown(bounds[0]), " to ", shown(bounds[1]))
              : absl::StrCat("at least ", shown(bounds.front())));
}

/// Returns an error's message in our words: CLI11 counts the arguments of all
/// occurrences together, and speaks of its types.
std::string messageOf(const CLI::ParseError &error) {
  std::string text = error.what();
  if (std::string range = rangeMessage(text); !range.empty()) {
    return range;
  }
  size_t at = text.find(": At Most 1 required but received");
  if (at != std::string::npos) {
    return text.substr(0, at) + " is given more than once";
  }
  at = text.find(": 1 required ");
  if (at != std::string::npos && absl::EndsWith(text, "missing")) {
    return text.substr(0, at) + " needs a value";
  }
  constexpr absl::string_view kNoNumber = "Could not convert: ";
  at = text.find(" = ");
  if (absl::StartsWith(text, kNoNumber) && at != std::string::npos) {
    return absl::StrCat(text.substr(kNoNumber.size(), at - kNoNumber.size()),
                        " is '", text.substr(at + 3), "', expected a number");
  }
  return text;
}

/// Leaves an error of arguments to rank 0, for processes that were started
/// together fail on the same: rank 0 says it, and its launcher ends the others,
/// mpirun a second later and more where the machine is busy. They speak where
/// it does not.
void delayErrorOffRank0() {
  absl::StatusOr<std::optional<Launch>> launch = detectLaunch();
  if (launch.ok() && *launch && (*launch)->rank > 0) {
    std::this_thread::sleep_for(std::chrono::seconds(5));
  }
}

} // namespace

CommandLine::CommandLine(const std::string &description) : app(description) {
  app.require_subcommand(1);
  app.set_version_flag("--version", kProducer, "Print the version and exit");
}

CLI::App &CommandLine::add(const std::string &name, const std::string &help) {
  CLI::App *command = app.add_subcommand(name, help);
  // Extras are reported here, with a suggestion, all at once.
  command->allow_extras();
  return *command;
}

CLI::App &CommandLine::addTo(CLI::App &command, const std::string &name,
                             const std::string &help) {
  CLI::App *own = command.add_subcommand(name, help);
  own->allow_extras();
  return *own;
}

void CommandLine::addFile(CLI::App &command, const std::string &name,
                          const std::string &help, std::string &path,
                          std::vector<std::string> &data) {
  // The option is not `required`, which would refuse it among the data.
  CLI::Option *option = command.add_option(name, path, help);
  files.push_back({&command, option, &path, &data});
}

std::optional<std::string>
CommandLine::findFile(const CLI::App &command) const {
  for (const File &file : files) {
    if (file.command != &command || !file.path->empty()) {
      continue;
    }
    if (file.data->size() < 2) {
      return file.option->get_name() + " is required";
    }
    *file.path = file.data->back();
    file.data->pop_back();
    file.option->add_result(*file.path); // as if it had been read so
  }
  return std::nullopt;
}

int CommandLine::fail(const CLI::App *command, const absl::Status &status,
                      int code) {
  errors.push_back({command, status});
  return code;
}

int CommandLine::fail(const CLI::App *command, const std::string &message) {
  return fail(command, absl::InvalidArgumentError(message), 2);
}

void CommandLine::printFailures() const {
  if (errors.empty()) {
    return;
  }
  if (!last) {
    delayErrorOffRank0();
  }
  // Warnings are shown, since they may tell why; other notes would hide the
  // error.
  releaseNotes(SIZE_MAX, Matter::Warning);
  for (const Failure &failure : errors) {
    std::string name;
    for (const CLI::App *command = failure.command; command && command != &app;
         command = command->get_parent()) {
      name = absl::StrCat(" ", command->get_name(), name);
    }
    std::fprintf(stderr, "%s%s: %s\n", app.get_name().c_str(), name.c_str(),
                 std::string(failure.status.message()).c_str());
  }
}

std::string CommandLine::takerOf(const std::string &option) const {
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; })) {
    std::vector<std::string> names;
    collectOptions(*command, names);
    if (std::find(names.begin(), names.end(), option) != names.end()) {
      return command->get_name();
    }
  }
  return "";
}

bool CommandLine::reportExtras(const CLI::App &command) {
  std::vector<std::string> names;
  collectOptions(command, names);
  auto hint = [&](const std::string &given) -> std::string {
    if (isOption<options::Compile>(
            std::string(absl::StripPrefix(given, "--")))) {
      bool trains =
          command.get_name() != "run" && command.get_name() != "export";
      return trains ? "; 'zerograph compile' takes it, and the plan has it "
                      "from there"
                    : "; it is for training: 'zerograph train' takes it";
    }
    std::string taker = takerOf(given);
    return taker.empty() ? suggestion(given, names)
                         : absl::StrCat("; 'zerograph ", taker, "' takes it");
  };
  auto takes = [&](const char *option) {
    return std::find(names.begin(), names.end(), option) != names.end();
  };
  bool any = false, after_unknown = false;
  for (const std::string &extra : command.remaining(true)) {
    bool option = absl::StartsWith(extra, "-");
    if (option) {
      std::string given = extra.substr(0, extra.find('='));
      fail(&command, absl::StrCat("unknown option '", given, "'", hint(given)));
    } else if (!after_unknown) {
      fail(
          &command,
          absl::StrCat("unexpected argument '", extra, "'",
                       takes("--data") ? "; samples are given by --data" : ""));
    }
    // A word after an unknown option is likely its value.
    after_unknown = option && !absl::StrContains(extra, '=');
    any = true;
  }
  return any;
}

int CommandLine::reportNoCommand() {
  std::vector<std::string> names, extras = app.remaining();
  for (const CLI::App *command :
       app.get_subcommands([](const CLI::App *) { return true; })) {
    names.push_back(command->get_name());
  }
  std::string help = absl::StrCat("; there are ", absl::StrJoin(names, ", "),
                                  " (see '", app.get_name(), " --help')");
  if (extras.empty()) {
    return fail(nullptr, "no command is given" + help);
  }
  std::string meant = suggestion(extras.front(), names);
  return fail(nullptr, absl::StrCat("there is no command '", extras.front(),
                                    "'", meant.empty() ? help : meant));
}

int CommandLine::main(int argc, char **argv) {
  int code = run(argc, argv);
  // The output is the result: on a full disk there is none.
  if (errors.empty() && (std::fflush(stdout) != 0 || std::ferror(stdout))) {
    code =
        fail(called,
             absl::UnavailableError("standard output could not be written"), 1);
  }
  printFailures();
  for (auto &[command, undo] : failures) {
    if (code != 0 && command->parsed()) {
      undo();
    }
  }
  if (last) {
    last();
  }
  for (const Backend *backend : backends()) {
    if (backend->lost()) {
      std::fflush(nullptr);
      std::_Exit(code);
    }
  }
  return code;
}

absl::Status CommandLine::call(const std::vector<std::string> &arguments) {
  std::vector<std::string> all = {"zerograph"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char *> pointers;
  for (std::string &argument : all) {
    pointers.push_back(argument.data());
  }
  run(int(pointers.size()), pointers.data());
  releaseNotes(SIZE_MAX, errors.empty() ? Matter::Remark : Matter::Warning);
  if (errors.empty()) {
    return called ? absl::OkStatus()
                  : absl::InvalidArgumentError(
                        "--help and --version are for the command line");
  }
  std::vector<absl::string_view> texts;
  for (const Failure &failure : errors) {
    texts.push_back(failure.status.message());
  }
  return absl::Status(errors.front().status.code(), absl::StrJoin(texts, "\n"));
}

int CommandLine::run(int argc, char **argv) {
  std::string path = argc > 0 ? argv[0] : "zerograph";
  app.name(path.substr(path.find_last_of('/') + 1));
  std::optional<std::string> wrong;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &help) { // or the version
    for (const File &file : files) {
      file.option->required(); // so it is shown
    }
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    wrong = messageOf(error);
  }
  for (auto &[command, run] : runs) {
    if (!command->parsed()) {
      continue;
    }
    if (std::string forgotten = forgottenValue(*command); !forgotten.empty()) {
      return fail(command, forgotten);
    }
    // Unknown options come before the rest: one may be the misspelt name of
    // what is missing.
    if (reportExtras(*command)) {
      return 2;
    }
    if (wrong) {
      return fail(command, *wrong);
    }
    if (std::optional<std::string> missing = findFile(*command)) {
      return fail(command, *missing);
    }
    called = command;
    holdNotes();
    absl::StatusOr<int> code = run();
    if (!code.ok()) {
      return fail(command, code.status(), 1);
    }
    releaseNotes();
    return *code;
  }
  return reportNoCommand();
}

void printFindings(const std::vector<std::string> &warnings,
                   const std::vector<std::string> &notes) {
  for (const std::string &warning : warnings) {
    warn(warning);
  }
  for (const std::string &note : notes) {
    say(Matter::Compilation, note);
  }
}

} // namespace zerograph
