//===- config_page.cpp - docs/deepspeed-config.md -------------------------===//
//
//     config_page FILE           fails where it is not the table's
//     config_page FILE --write   writes it anew: `ninja docs`
//
//===----------------------------------------------------------------------===//

#include "config/Keys.h"
#include "tools/GeneratedPage.h"
#include "tools/cli/ConfigFile.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace zerograph {
namespace {

using config::Dialect;
using config::Key;
using config::KeySupport;

constexpr char kIntroduction[] =
    R"(# Keys of DeepSpeed's and Accelerate's files

`--config FILE` takes both kinds of file. `zerograph explain FILE` says the same
as this page of the keys that a file has. The page is made from the table in
`config/Keys.def`; `ninja docs` writes it.

- **applied**: sets the option.
- **applied differently**: sets the option, or does something near.
- **no effect**: any value is taken, since none changes a result here.
- **out of scope**: the same, of what Zerograph leaves to other programs.
- **refused**: any value but the default, or what is off, is an error.

An unknown key is an error. So are a key that is given twice, two spellings of
one key, and two files that disagree. `null` is as if the key were missing.
`"auto"` means the option's default, of the batch's numbers what follows from
the others, and of two bucket sizes and the persistence threshold what
Transformers makes of the model's hidden size. A section whose switch
(`enabled`, `device`, `type`) is off has no effect.
)";

std::string code(const std::string &text) {
  return text.empty() ? "" : absl::StrCat("`", text, "`");
}

/// Says what a key does, by the options that there are.
std::string does(CLI::App &command, const Key &key) {
  std::string text(nameOf(key.does));
  if (key.option.empty()) {
    return text;
  }
  bool known = optionNamed(command, key.option) != nullptr;
  return absl::StrCat(text, ": `--", key.option, "`",
                      known ? "" : ", which no command has");
}

std::string row(const std::string &a, const std::string &b,
                const std::string &c, const std::string &d) {
  auto cell = [](const std::string &text) {
    return absl::StrReplaceAll(text, {{"|", "\\|"}});
  };
  return absl::StrCat("| ", cell(a), " | ", cell(b), " | ", cell(c), " | ",
                      cell(d), " |\n");
}

std::string table(CLI::App &command, Dialect dialect) {
  std::string text = row("key", "default", "here", "");
  text += "|---|---|---|---|\n";
  for (const Key &key : config::keys()) {
    if (key.dialect != dialect || key.type == config::Type::Section) {
      continue;
    }
    std::string what = key.target.empty() ? does(command, key)
                                          : absl::StrCat("`", key.target, "`");
    text += row(code(key.path), code(key.value), what, key.text);
  }
  return text;
}

std::string page() {
  CLI::App command;
  options::Compile compile;
  options::Train train;
  addOptions(command, kTrains, compile);
  CLI::Option_group *group = command.add_option_group("train");
  addOptions(*group, kTrains, train);
  std::string text = kIntroduction;
  absl::StrAppend(&text, "\n## DeepSpeed\n\n",
                  table(command, Dialect::DeepSpeed));
  absl::StrAppend(&text,
                  "\nOther spellings:\n\n| key | is | |\n|---|---|---|\n");
  for (const config::Alias &alias : config::aliases()) {
    absl::StrAppend(&text, "| `", alias.path, "` | `", alias.target, "` | ",
                    alias.text, " |\n");
  }
  absl::StrAppend(&text, "\n## Accelerate\n\n",
                  table(command, Dialect::Accelerate));
  return text;
}

} // namespace
} // namespace zerograph

int main(int argc, char **argv) {
  return zerograph::pageMain(
      argc, argv, "config/Keys.def, with options/Options.def,",
      [](const std::string &) { return zerograph::page(); });
}
