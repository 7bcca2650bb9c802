//===- CommandLine.h - a program of subcommands ---------------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_COMMANDLINE_H
#define ZEROGRAPH_TOOLS_CLI_COMMANDLINE_H

#include "absl/status/statusor.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zerograph {

/// Parses the arguments of a program and runs one of its commands.
///
///     CommandLine line("Zerograph: ...");
///     addInspect(line);
///     return line.main(argc, argv);
class CommandLine {
public:
  explicit CommandLine(const std::string &description);

  /// Declares a command; `run` is called once its options have been parsed, and
  /// must own what they were parsed into. It returns the exit status.
  CLI::App &add(const std::string &name, const std::string &help);
  /// Declares a command's own command, as `checkpoint list`; before the
  /// command's `onRun`, which is called where none is named.
  CLI::App &addTo(CLI::App &command, const std::string &name,
                  const std::string &help);
  void onRun(CLI::App &command, std::function<absl::StatusOr<int>()> run) {
    runs.emplace_back(&command, std::move(run));
  }
  /// Declares the file that a command is about. Where it comes last, as in
  /// `--data A B FILE`, it is read as data: then the last of `data` is it. Both
  /// outlive the parse.
  void addFile(CLI::App &command, const std::string &name,
               const std::string &help, std::string &path,
               std::vector<std::string> &data);
  /// Calls `undo` if the command fails, for its arguments too, which may then
  /// be wrong or missing: nothing that it would have replaced may pass for what
  /// it made.
  void onFailure(CLI::App &command, std::function<void()> undo) {
    failures.emplace_back(&command, std::move(undo));
  }
  /// Has `main` call `last` when everything has been said, before it returns.
  void atEnd(std::function<void()> last) { this->last = std::move(last); }

  /// Returns the exit status: the command's; 2 for wrong arguments (with the
  /// nearest option where one is unknown), 1 with one message on standard error
  /// for a failed command.
  int main(int argc, char **argv);

  /// Does what a program asks that has this one as a library: runs the command
  /// with these arguments, its name first. What `main` would print is the
  /// error; wrong arguments are InvalidArgument.
  absl::Status call(const std::vector<std::string> &arguments);

private:
  /// An error, of a command or (null) of the program.
  struct Failure {
    const CLI::App *command;
    absl::Status status;
  };

  int run(int argc, char **argv);
  /// Keeps an error, and returns the exit status.
  int fail(const CLI::App *command, const absl::Status &status, int code);
  int fail(const CLI::App *command, const std::string &message);
  void printFailures() const;
  /// Returns the first command that has the option; "" where none has.
  std::string takerOf(const std::string &option) const;
  bool reportExtras(const CLI::App &command);
  int reportNoCommand();

  struct File {
    CLI::App *command;
    CLI::Option *option;
    std::string *path;
    std::vector<std::string> *data;
  };
  /// Returns what is wrong with the files of `command`; nothing if they are
  /// there.
  std::optional<std::string> findFile(const CLI::App &command) const;

  CLI::App app;
  std::vector<File> files;
  std::vector<std::pair<CLI::App *, std::function<absl::StatusOr<int>()>>> runs;
  std::vector<std::pair<CLI::App *, std::function<void()>>> failures;
  std::vector<Failure> errors;
  const CLI::App *called = nullptr; ///< the command that was run
  std::function<void()> last;
};

/// Prints on standard error.
void printFindings(const std::vector<std::string> &warnings,
                   const std::vector<std::string> &notes);

/// The commands. `compile`, `run`, `export`, `explain`, `simulate`, `advise`
/// and `train` of models are in zerograph alone; the others need the runtime
/// only.
void addInspect(CommandLine &line);
void addVerify(CommandLine &line);
void addSimulate(CommandLine &line);
void addReport(CommandLine &line);
void addAdvise(CommandLine &line);
void addCalibrate(CommandLine &line);
void addEnv(CommandLine &line);
void addCheckpoint(CommandLine &line);
void addTrainPlan(CommandLine &line);
void addCompile(CommandLine &line);
void addTrainModel(CommandLine &line);
void addRunModel(CommandLine &line);
void addExplain(CommandLine &line);
void addExport(CommandLine &line);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_COMMANDLINE_H
