//===- option_tables.cpp - the tables of options in a page ----------------===//
//
//     option_tables docs/options.md           fails where they are not the
//     table's option_tables docs/options.md --write   writes them anew: `ninja
//     docs`
//
// A table stands between `<!-- options: NAME -->` and `<!-- end -->`.
//
//===----------------------------------------------------------------------===//

#include "tools/GeneratedPage.h"
#include "tools/cli/OptionTable.h"

#include "absl/strings/str_replace.h"

#include <cstdio>

namespace zerograph {
namespace {

template <typename Fields>
std::string table(unsigned commands) {
  bool several = (commands & kRuns) != 0;
  std::string text = several
                         ? "| option | default | | `run` |\n|---|---|---|---|\n"
                         : "| option | default | |\n|---|---|---|\n";
  Fields fields;
  eachOption(fields, [&](const OptionRow &row, const auto &field) {
    if ((row.commands & commands) == 0) {
      return;
    }
    std::string usage = absl::StrReplaceAll(dashed(row), {{",", "`, `"}});
    if (!row.value.empty()) {
      absl::StrAppend(&usage, " ", row.value);
    }
    std::string value = defaultText(row, field);
    absl::StrAppend(&text, "| `", absl::StrReplaceAll(usage, {{"|", "\\|"}}),
                    "` | ", value.empty() ? "" : absl::StrCat("`", value, "`"),
                    " | ", row.help, " |",
                    !several                      ? "\n"
                    : (row.commands & kRuns) != 0 ? " too |\n"
                                                  : "  |\n");
  });
  return text;
}

/// Replaces what stands between a table's marks; false where these are not.
bool replace(std::string &text, const std::string &name,
             const std::string &table) {
  std::string begin = absl::StrCat("<!-- options: ", name, " -->\n");
  size_t at = text.find(begin);
  size_t end = text.find("<!-- end -->", at);
  if (at == std::string::npos || end == std::string::npos) {
    std::cerr << "there is no table '" << name << "' between marks\n";
    return false;
  }
  at += begin.size();
  text.replace(at, end - at, table);
  return true;
}

std::optional<std::string> withTables(std::string text) {
  bool there =
      replace(text, "compile", table<options::Compile>(kPlans | kRuns)) &&
      replace(text, "train", table<options::Train>(kTrains | kRuns)) &&
      replace(text, "export", table<options::Export>(kExports));
  return there ? std::optional(std::move(text)) : std::nullopt;
}

} // namespace
} // namespace zerograph

int main(int argc, char **argv) {
  return zerograph::pageMain(argc, argv, "options/Options.def",
                             zerograph::withTables);
}
