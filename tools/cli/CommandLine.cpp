//===- CommandLine.cpp - a program of subcommands -------------------------===//

#include "tools/cli/CommandLine.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace zerograph {
namespace {

/// Levenshtein distance.
size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

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

/// "; did you mean --zero?" or nothing.
std::string suggestion(const CLI::App &command, const std::string &unknown) {
  std::vector<std::string> names;
  collectOptions(command, names);
  std::string given = unknown.substr(0, unknown.find('='));
  std::string best;
  size_t least = given.size() / 3 + 1;
  for (const std::string &name : names) {
    size_t edits = distance(given, name);
    if (edits <= least) {
      least = edits;
      best = name;
    }
  }
  return best.empty() ? "" : absl::StrCat("; did you mean ", best, "?");
}

} // namespace

CLI::App &CommandLine::add(const std::string &name, const std::string &help) {
  CLI::App *command = app.add_subcommand(name, help);
  // Extras are reported here, with a suggestion, all at once.
  command->allow_extras();
  return *command;
}

int CommandLine::main(int argc, char **argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &help) {
    return app.exit(help);
  } catch (const CLI::CallForAllHelp &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    return 2;
  }
  for (auto &[command, run] : runs) {
    if (!command->parsed()) {
      continue;
    }
    std::vector<std::string> extras = command->remaining(true);
    for (const std::string &extra : extras) {
      std::fprintf(stderr, "zerograph %s: %s '%s'%s\n",
                   command->get_name().c_str(),
                   absl::StartsWith(extra, "-") ? "unknown option"
                                                : "unexpected argument",
                   extra.c_str(), suggestion(*command, extra).c_str());
    }
    if (!extras.empty()) {
      return 2;
    }
    absl::Status status = run();
    if (!status.ok()) {
      std::fprintf(stderr, "zerograph %s: %s\n", command->get_name().c_str(),
                   std::string(status.message()).c_str());
      return 1;
    }
    return 0;
  }
  return 2;
}

} // namespace zerograph
