//===- Value.cpp - what a configuration file holds ------------------------===//

#include "config/Value.h"

#include "runtime/base/Status.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <charconv>
#include <cmath>
#include <sstream>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace zerograph::config {
namespace {

constexpr int kMostValues = 100000;
constexpr size_t kMostText = 4
                             << 20; // bytes: one text can stand in many values
constexpr int kMostDepth = 64;

absl::Status wrong(int line, absl::string_view what) {
  return absl::InvalidArgumentError(
      line > 0 ? absl::StrCat("line ", line, ": ", what) : std::string(what));
}

/// YAML's nodes may be shared, and hold themselves: both are bounded.
class Converter {
public:
  absl::StatusOr<Value> convert(const YAML::Node &node, int line, int depth) {
    Value value;
    value.line = node.Mark().line >= 0 ? node.Mark().line + 1 : line;
    if (++values > kMostValues || depth > kMostDepth) {
      return wrong(value.line, "too many values for a configuration");
    }
    switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      return value;
    case YAML::NodeType::Scalar:
      value.kind = Value::Kind::Scalar;
      value.text = node.Scalar();
      value.quoted = node.Tag() == "!";
      letters += value.text.size();
      if (value.text.find('\0') != std::string::npos) {
        return wrong(value.line, "a text with a NUL in it");
      }
      return letters <= kMostText
                 ? absl::StatusOr<Value>(std::move(value))
                 : wrong(value.line, "too much text for a configuration");
    case YAML::NodeType::Sequence:
      value.kind = Value::Kind::List;
      for (const YAML::Node &child : node) {
        ZG_ASSIGN_OR_RETURN(Value item, convert(child, value.line, depth + 1));
        value.children.push_back(std::move(item));
      }
      return value;
    case YAML::NodeType::Map:
      value.kind = Value::Kind::Map;
      for (const auto &entry : node) {
        int at = entry.first.Mark().line + 1;
        if (!entry.first.IsScalar()) {
          return wrong(at, "a key that is no word");
        }
        ZG_ASSIGN_OR_RETURN(Value child, convert(entry.second, at, depth + 1));
        child.name = entry.first.Scalar();
        child.line = at; // where its key stands
        value.children.push_back(std::move(child));
      }
      return value;
    }
    return value;
  }

private:
  int values = 0;
  size_t letters = 0;
};

/// Looks at the documents of a stream, and keeps nothing of them.
class Skip : public YAML::EventHandler {
  using Mark = YAML::Mark;
  using Anchor = YAML::anchor_t;
  using Style = YAML::EmitterStyle::value;

  void OnDocumentStart(const Mark &) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark &, Anchor) override {}
  void OnAlias(const Mark &, Anchor) override {}
  void OnScalar(const Mark &, const std::string &, Anchor,
                const std::string &) override {}
  void OnSequenceStart(const Mark &, const std::string &, Anchor,
                       Style) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark &, const std::string &, Anchor, Style) override {}
  void OnMapEnd() override {}
};

/// YAML::LoadAll tells too, except that it finds documents without end, each
/// empty, where one begins with a comma.
bool isOneDocument(const std::string &yaml) {
  std::istringstream stream(yaml);
  YAML::Parser parser(stream);
  Skip skip;
  return parser.HandleNextDocument(skip) && !parser.HandleNextDocument(skip);
}

std::string quotedText(const Value &value) {
  return value.quoted ? absl::StrCat("\"", value.text, "\"") : value.text;
}

void show(const Value &value, std::string &text) {
  constexpr size_t kLong = 60;
  if (text.size() > kLong) {
    return;
  }
  switch (value.kind) {
  case Value::Kind::Null:
    text += "null";
    return;
  case Value::Kind::Scalar:
    text += quotedText(value);
    return;
  case Value::Kind::List:
  case Value::Kind::Map:
    break;
  }
  text += value.isMap() ? '{' : '[';
  const char *between = "";
  for (const Value &child : value.children) {
    text += between;
    between = ", ";
    if (value.isMap()) {
      absl::StrAppend(&text, child.name, ": ");
    }
    show(child, text);
  }
  text += value.isMap() ? '}' : ']';
}

} // namespace

std::optional<bool> Value::boolean() const {
  if (kind == Kind::Scalar) {
    for (const char *yes : {"true", "1", "yes", "on"}) {
      if (absl::EqualsIgnoreCase(text, yes)) {
        return true;
      }
    }
    for (const char *no : {"false", "0", "no", "off"}) {
      if (absl::EqualsIgnoreCase(text, no)) {
        return false;
      }
    }
  }
  return std::nullopt;
}

std::optional<double> Value::number() const {
  double number;
  if (kind == Kind::Scalar && absl::SimpleAtod(text, &number) &&
      std::isfinite(number)) {
    return number;
  }
  return std::nullopt;
}

std::optional<int64_t> Value::integer() const {
  int64_t whole;
  if (kind == Kind::Scalar && absl::SimpleAtoi(text, &whole)) {
    return whole;
  }
  constexpr double kExact = int64_t(1) << 53;
  std::optional<double> real = number();
  if (real && std::abs(*real) <= kExact && *real == std::floor(*real)) {
    return int64_t(*real);
  }
  return std::nullopt;
}

std::string Value::shown() const {
  constexpr size_t kMost = 60;
  std::string text;
  show(*this, text);
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

Value Value::of(std::string text, int line) {
  Value value;
  value.kind = Kind::Scalar;
  value.text = std::move(text);
  value.line = line;
  return value;
}

absl::StatusOr<Value> parseValue(absl::string_view text) {
  std::string yaml(text);
  absl::StatusOr<std::string> blanked = yamlOfHjson(text);
  bool braces = blanked.ok() &&
                absl::StripLeadingAsciiWhitespace(*blanked).substr(0, 1) == "{";
  if (braces) {
    yaml = *blanked;
  } else if (absl::StripLeadingAsciiWhitespace(text).substr(0, 1) == "{") {
    return blanked.status();
  }
  try {
    YAML::Node document;
    if (isOneDocument(yaml)) {
      document = YAML::Load(yaml);
    }
    if (!document.IsMap()) {
      return wrong(0, "expected one mapping of keys to values");
    }
    return Converter().convert(document, 1, 0);
  } catch (const YAML::Exception &error) {
    return wrong(error.mark.line + 1, error.msg);
  }
}

std::string numberText(double number) {
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof(text), number,
                                    std::chars_format::general);
  return std::string(text, end);
}

} // namespace zerograph::config
