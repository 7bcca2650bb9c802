//===- GivenOptions.cpp - options of a parsed command ---------------------===//

#include "tools/cli/GivenOptions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

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

std::string quoted(const std::string &text) {
  bool plain = !text.empty() && text.find_first_not_of(
                                    "abcdefghijklmnopqrstuvwxyz"
                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789.,_-+=/:") == std::string::npos;
  return plain ? text
               : absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}),
                              "'");
}

std::string asOption(CLI::App &command, const std::string &name,
                     const std::string &value) {
  const CLI::Option *option = optionNamed(command, name);
  bool flag = option != nullptr && option->get_items_expected_max() == 0;
  return !flag             ? absl::StrCat("--", name, " ", quoted(value))
         : value == "true" ? "--" + name
                           : absl::StrCat("--", name, "=", value);
}

std::vector<std::string> optionsAsGiven(CLI::App &command,
                                        const std::set<std::string> &without) {
  std::vector<std::string> texts;
  for (const auto &[name, value] : optionsGiven(command)) {
    if (without.count(name) == 0) {
      for (const std::string &one : optionNamed(command, name)->results()) {
        texts.push_back(asOption(command, name, one));
      }
    }
  }
  return texts;
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
