//===- GivenOptions.cpp - options of a parsed command ---------------------===//

#include "tools/cli/GivenOptions.h"

#include "absl/strings/str_join.h"

namespace zerograph {

void forEachGiven(const CLI::App &command,
                  const std::function<void(const CLI::Option &)> &visit) {
  for (const CLI::Option *option : command.get_options()) {
    if (option->count() > 0) {
      visit(*option);
    }
  }
  for (const CLI::App *group :
       command.get_subcommands([](const CLI::App *) { return true; })) {
    forEachGiven(*group, visit);
  }
}

CLI::Option *optionNamed(CLI::App &command, const std::string &name) {
  return command.get_option_no_throw("--" + name);
}

std::map<std::string, std::string> optionsGiven(const CLI::App &command) {
  std::map<std::string, std::string> given;
  forEachGiven(command, [&](const CLI::Option &option) {
    if (!option.get_lnames().empty()) {
      given[option.get_lnames().front()] = absl::StrJoin(option.results(), " ");
    }
  });
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
