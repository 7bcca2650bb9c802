//===- GivenOptions.cpp - options of a parsed command ---------------------===//

#include "tools/cli/GivenOptions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace zerograph {
namespace {

void collect(const CLI::App &command,
             std::map<std::string, std::string> &given) {
  for (const CLI::Option *option : command.get_options()) {
    if (option->count() > 0 && !option->get_lnames().empty()) {
      given[option->get_lnames().front()] =
          absl::StrJoin(option->results(), " ");
    }
  }
  for (const CLI::App *group :
       command.get_subcommands([](const CLI::App *) { return true; })) {
    collect(*group, given);
  }
}

} // namespace

CLI::Option *optionNamed(CLI::App &command, const std::string &name) {
  return command.get_option_no_throw("--" + name);
}

std::map<std::string, std::string> optionsGiven(const CLI::App &command) {
  std::map<std::string, std::string> given;
  collect(command, given);
  return given;
}

std::string giveOption(CLI::App &command, const std::string &name,
                       const std::string &value) {
  CLI::Option *option = optionNamed(command, name);
  if (option == nullptr) {
    return absl::StrCat("this command has no --", name);
  }
  if (option->count() > 0) {
    return "";
  }
  try {
    option->add_result(value);
    option->run_callback();
  } catch (const CLI::Error &error) {
    option->clear();
    return error.what();
  }
  return "";
}

} // namespace zerograph
