//===- DumpDirectory.cpp - numbered IR files ------------------------------===//
//
// MLIR writes a table of locations after a module:
//
//   #loc1 = loc("modeling_llama.py":176:0)
//   #loc2 = loc(fused<"layers.1.mlp">[#loc1])
//   #loc3 = loc("node_mul_411"(#loc2))
//   #loc4 = loc(fused[#loc3, #loc5])
//
// See passes/ir/nn/Locations.h for what these mean.
//
//===----------------------------------------------------------------------===//

#include "tools/compiler/DumpDirectory.h"

#include "runtime/base/Status.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <vector>

namespace zerograph {
namespace {

using absl::string_view;

/// Longest text of a constant's elements that is left whole.
constexpr size_t kMaxElements = 80;
/// Length of what is shown of a longer one.
constexpr size_t kShownElements = 40;

/// The names "#loc7" in `text`, outside of quotes.
std::vector<string_view> aliasesIn(string_view text) {
  std::vector<string_view> aliases;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    quoted ^= text[i] == '"';
    if (!quoted && text[i] == '#') {
      size_t end = text.find_first_of(",)]( ", i);
      aliases.push_back(text.substr(i, end - i));
    }
  }
  return aliases;
}

class Locations {
public:
  void add(string_view line) {
    std::pair<string_view, string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(" = loc(", 1));
    absl::ConsumeSuffix(&parts.second, ")");
    bodies[parts.first] = parts.second;
  }

  /// Empty where nothing says it.
  const std::string &placeOf(string_view alias) {
    auto [entry, added] = places.try_emplace(alias);
    if (added) {
      entry->second = find(bodies[alias]);
    }
    return entry->second;
  }

private:
  std::string find(string_view body) {
    if (absl::ConsumePrefix(&body, "fused<\"")) {
      string_view module = body.substr(0, body.find('"'));
      std::string line = lineOf(body.substr(body.find('[') + 1));
      return module.empty() ? line
             : line.empty() ? std::string(module)
                            : absl::StrCat(module, " (", line, ")");
    }
    for (string_view alias : aliasesIn(body)) {
      if (const std::string &place = placeOf(alias); !place.empty()) {
        return place;
      }
    }
    return "";
  }

  /// Returns "file:12" of `"file":12:0` or of an alias of that.
  std::string lineOf(string_view text) {
    if (absl::StartsWith(text, "#")) {
      text = bodies[text.substr(0, text.find(']'))];
    }
    if (!absl::ConsumePrefix(&text, "\"")) {
      return "";
    }
    std::vector<string_view> parts = absl::StrSplit(text, ':');
    absl::ConsumeSuffix(&parts[0], "\"");
    return parts.size() < 3 ? "" : absl::StrCat(parts[0], ":", parts[1]);
  }

  std::map<string_view, string_view> bodies;
  std::map<string_view, std::string> places;
};

/// Returns the text of a module, printed with its locations, with a comment
/// above operations that says where in the user's code they come from:
///
///     // layers.1.mlp (modeling_llama.py:176)
///     %node_mul_411 = nn.binary mul %node_silu, %node_linear : ...
///
/// The comment is left out where it is that of the operations before.
std::string withPlaces(const std::string &dump) {
  std::vector<string_view> lines = absl::StrSplit(dump, '\n');
  Locations locations;
  for (string_view line : lines) {
    if (absl::StartsWith(line, "#loc")) {
      locations.add(line);
    }
  }
  std::string text, last;
  for (string_view line : lines) {
    size_t at = line.rfind(" loc(#");
    string_view code = absl::StripLeadingAsciiWhitespace(line);
    // The location of what a brace closes is that of all its operations.
    if (at != string_view::npos && code != line &&
        !absl::StartsWith(code, "}")) {
      std::vector<string_view> aliases = aliasesIn(line.substr(at));
      const std::string &place = locations.placeOf(aliases.back());
      if (!place.empty() && place != last) {
        absl::StrAppend(&text, line.substr(0, line.size() - code.size()), "// ",
                        place, "\n");
      }
      last = place;
    }
    absl::StrAppend(&text, line, "\n");
  }
  text.pop_back();
  return text;
}

/// Returns the text with the elements of each constant that would not fit a
/// line left out: `dense<"0x0000... see whole.mlir">`, which no parser takes
/// for the constant. `whole` names the file that has them.
std::string withoutLongConstants(const std::string &of,
                                 const std::string &whole) {
  constexpr string_view kBegin = "dense<", kEnd = "> : ";
  string_view dump = of;
  std::string text;
  size_t done = 0;
  for (size_t at = dump.find(kBegin); at != string_view::npos;
       at = dump.find(kBegin, at + 1)) {
    size_t begin = at + kBegin.size(), end = dump.find(kEnd, begin);
    if (end == string_view::npos || end - begin <= kMaxElements) {
      continue;
    }
    absl::StrAppend(&text, dump.substr(done, begin - done),
                    dump.substr(begin, kShownElements), "... see ", whole);
    done = end;
  }
  return absl::StrCat(text, dump.substr(done));
}

} // namespace

absl::Status DumpDirectory::open() {
  if (directory.empty()) {
    return absl::OkStatus();
  }
  if (std::error_code error = llvm::sys::fs::create_directories(directory)) {
    return absl::UnavailableError(absl::StrCat(
        "--dump-ir: cannot make ", directory, ": ", error.message()));
  }
  return absl::OkStatus();
}

static absl::Status writeText(const std::string &path,
                              const std::string &text) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    file << text;
    file.close();
    error = file.error();
  }
  if (error) {
    file.clear_error();
    return absl::UnavailableError(
        absl::StrCat("--dump-ir: cannot write ", path, ": ", error.message()));
  }
  return absl::OkStatus();
}

absl::Status DumpDirectory::write(const std::string &phase,
                                  mlir::ModuleOp module) {
  if (directory.empty()) {
    return absl::OkStatus();
  }
  std::string name = absl::StrFormat("%02d-%s", next++, phase);
  std::string whole = absl::StrCat(name, ".whole.mlir"), text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo();
  module.print(stream, flags);
  text = withPlaces(text + "\n");
  std::string shortened = withoutLongConstants(text, whole);
  if (shortened != text) {
    ZG_RETURN_IF_ERROR(writeText(absl::StrCat(directory, "/", whole), text));
    shortened = absl::StrCat("// Constants longer than a line are in ", whole,
                             ", which zerograph-opt reads.\n", shortened);
  }
  return writeText(absl::StrCat(directory, "/", name, ".mlir"), shortened);
}

} // namespace zerograph
