//===- Hjson.cpp - hjson as YAML ------------------------------------------===//
//
// A mapping in braces is the same in both but for comments and commas.
//
//===----------------------------------------------------------------------===//

#include "config/Value.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace zerograph::config {
namespace {

bool isOneOf(char letter, absl::string_view letters) {
  return letters.find(letter) != absl::string_view::npos;
}

class Writer {
public:
  explicit Writer(absl::string_view text) : text(text) {}

  absl::StatusOr<std::string> write() {
    while (at < text.size()) {
      if (size_t end = endOfComment(); end != at) {
        blank(end);
      } else if (absl::ascii_isspace(text[at])) {
        newline |= text[at] == '\n';
        yaml += text[at] == '\n' ? '\n' : ' ';
        ++at;
      } else if (absl::Status status = token(); !status.ok()) {
        return status;
      }
    }
    return std::move(yaml);
  }

private:
  /// Returns where the comment ends that begins here; here, where none does.
  /// Within a word, as of an address, there is none.
  size_t endOfComment() const {
    absl::string_view rest = text.substr(at);
    if (!yaml.empty() && !isOneOf(yaml.back(), " \n{}[],\"'")) {
      return at;
    }
    if (rest[0] == '#' || rest.substr(0, 2) == "//") {
      return std::min(text.find('\n', at), text.size());
    }
    if (rest.substr(0, 2) == "/*") {
      size_t end = text.find("*/", at + 2);
      return end == absl::string_view::npos ? text.size() : end + 2;
    }
    return at;
  }

  void blank(size_t end) {
    for (; at < end; ++at) {
      newline |= text[at] == '\n';
      yaml += text[at] == '\n' ? '\n' : ' ';
    }
  }

  /// One letter that counts, or a string in quotes.
  absl::Status token() {
    char letter = text[at];
    if (closed) {
      return absl::InvalidArgumentError("there is more after the last brace");
    }
    bool word = !isOneOf(letter, "}],:");
    if (newline && word && last != 0 && !isOneOf(last, "{[,:")) {
      yaml += ','; // the end of a line is as good
      key = true;
    }
    newline = false;
    bool begins = last == 0 || isOneOf(last, "{[,:") || yaml.back() == ',' ||
                  yaml.back() == ' ' || yaml.back() == '\n';
    last = letter;
    if (begins && (letter == '"' || letter == '\'')) {
      return string(letter);
    }
    yaml += letter;
    ++at;
    if (letter == '{' || letter == '[') {
      open += letter;
      key = letter == '{';
    } else if (letter == '}' || letter == ']') {
      if (!open.empty()) {
        open.pop_back();
      }
      closed = open.empty();
      key = false;
    } else if (letter == ',') {
      key = true;
    } else if (letter == ':' && key && !open.empty() && open.back() == '{') {
      separate();
    }
    return absl::OkStatus();
  }

  /// YAML wants the colon on the key's line, and a blank after it.
  void separate() {
    yaml.pop_back();
    std::string lines = " ";
    for (; !yaml.empty() && isOneOf(yaml.back(), " \n"); yaml.pop_back()) {
      lines += yaml.back() == '\n' ? "\n" : "";
    }
    absl::StrAppend(&yaml, ":", lines);
    key = false;
  }

  absl::Status string(char quote) {
    size_t end = at + 1;
    while (end < text.size() && text[end] != quote && text[end] != '\n') {
      end += text[end] == '\\' ? 2 : 1;
    }
    if (end >= text.size() || text[end] != quote) {
      return absl::InvalidArgumentError("a string has no end");
    }
    absl::StrAppend(&yaml, text.substr(at, end + 1 - at));
    at = end + 1;
    return absl::OkStatus();
  }

  absl::string_view text;
  size_t at = 0;
  std::string yaml;
  std::string open;     // brackets that are
  char last = 0;        // letter that counted
  bool newline = false; // since then
  bool key = false;     // a map's key is awaited, or being read
  bool closed = false;
};

} // namespace

absl::StatusOr<std::string> yamlOfHjson(absl::string_view text) {
  return Writer(text).write();
}

} // namespace zerograph::config
