//===- GivenOptions.h - options of a parsed command -----------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_GIVENOPTIONS_H
#define ZEROGRAPH_TOOLS_CLI_GIVENOPTIONS_H

#include <CLI/App.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace zerograph {

/// Calls `visit` with each option and argument that was given, also of groups.
void forEachGiven(const CLI::App &command,
                  const std::function<void(const CLI::Option &)> &visit);

/// Returns the options that were given, with their values, without dashes.
std::map<std::string, std::string> optionsGiven(const CLI::App &command);

/// Returns `--lr` for `lr`; null where the command has no such option.
CLI::Option *optionNamed(CLI::App &command, const std::string &name);

/// Returns the text as a shell needs it.
std::string quoted(const std::string &text);

/// Returns an option as it stands on a command line: "--zero 3", "--evaluate",
/// "--evaluate=false".
std::string asOption(CLI::App &command, const std::string &name,
                     const std::string &value);

/// Returns the options that were given, but those of these names, each as it
/// was: "--dim batch=4", "--dim seq=8".
std::vector<std::string> optionsAsGiven(CLI::App &command,
                                        const std::set<std::string> &without);

/// Gives one option its value, as if it stood on the command line, unless it
/// has one. Returns why the option does not take it, or nothing.
std::string giveOption(CLI::App &command, const std::string &name,
                       const std::string &value);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_GIVENOPTIONS_H
