//===- Keys.cpp - the table of configuration keys -------------------------===//

#include "config/Keys.h"

#include "config/Converters.h"
#include "runtime/base/EditDistance.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>

namespace zerograph::config {
namespace {

std::vector<Key> makeKeys() {
  std::vector<Key> rows;
  // Sections are declared by both in the same way.
  auto dialectOf = [](absl::string_view path) {
    return absl::StartsWith(path, "deepspeed_config") ? Dialect::Accelerate
                                                      : Dialect::DeepSpeed;
  };
#define ZG_KEY(path, type, value, does, option, convert, text)                 \
  rows.push_back({Dialect::DeepSpeed, path, Type::type, value,                 \
                  KeySupport::does, option, &convert, text, "", ""});
#define ZG_SECTION(path, on, text)                                             \
  rows.push_back({dialectOf(path), path, Type::Section, "null",                \
                  KeySupport::NoEffect, "", &none, text, "", on});
#define ZG_ACCELERATE(path, type, value, does, target, text)                   \
  rows.push_back({Dialect::Accelerate, path, Type::type, value,                \
                  KeySupport::does, "", &none, text, target, ""});
#include "config/Keys.def"
  return rows;
}

std::vector<Alias> makeAliases() {
  return {
#define ZG_ALIAS(path, target, text) {path, target, text},
#include "config/Keys.def"
  };
}

/// Finds out whether `enabled` is in `value`, and somewhere true.
void lookForEnabled(const Value &value, bool &there, bool &on) {
  for (const Value &child : value.children) {
    if (child.name == "enabled") {
      there = true;
      on |= child.boolean().value_or(true);
    }
    lookForEnabled(child, there, on);
  }
}

} // namespace

absl::string_view leafOf(absl::string_view path) {
  return path.substr(path.find_last_of('.') + 1);
}

absl::string_view parentOf(absl::string_view path) {
  size_t dot = path.find_last_of('.');
  return dot == absl::string_view::npos ? "" : path.substr(0, dot);
}

const std::vector<Key> &keys() {
  static const std::vector<Key> rows = makeKeys();
  return rows;
}

const std::vector<Alias> &aliases() {
  static const std::vector<Alias> rows = makeAliases();
  return rows;
}

const Key *findKey(Dialect dialect, absl::string_view path) {
  for (const Key &key : keys()) {
    if (key.dialect == dialect && key.path == path) {
      return &key;
    }
  }
  return nullptr;
}

const Alias *findAlias(absl::string_view path) {
  for (const Alias &alias : aliases()) {
    if (alias.path == path) {
      return &alias;
    }
  }
  return nullptr;
}

std::string nearestKey(Dialect dialect, absl::string_view path) {
  // The right name in the wrong place comes before a name that is near.
  absl::string_view leaf = leafOf(path);
  std::string best;
  size_t least = std::min(leaf.size() / 2, leaf.size() / 3 + 1);
  bool beside = false;
  auto look = [&](absl::string_view other) {
    size_t edits = editDistance(std::string(leaf), std::string(leafOf(other)));
    bool here = parentOf(other) == parentOf(path);
    if (edits < least || (edits == least && (best.empty() || here > beside))) {
      least = edits;
      best = std::string(other);
      beside = here;
    }
  };
  for (const Key &key : keys()) {
    if (key.dialect == dialect) {
      look(key.path);
    }
  }
  for (const Alias &alias : aliases()) {
    if (dialect == Dialect::DeepSpeed) {
      look(alias.path);
    }
  }
  return best.empty() ? "" : absl::StrCat("did you mean '", best, "'?");
}

absl::string_view nameOf(Type type) {
  switch (type) {
  case Type::Bool:
    return "true or false";
  case Type::Integer:
    return "a whole number";
  case Type::Number:
    return "a number";
  case Type::Text:
    return "a word";
  case Type::List:
    return "a list";
  case Type::Any:
    return "anything";
  case Type::Section:
    return "a section {...}";
  }
  return "";
}

absl::string_view nameOf(KeySupport does) {
  switch (does) {
  case KeySupport::Applied:
    return "applied";
  case KeySupport::Differently:
    return "applied differently";
  case KeySupport::NoEffect:
    return "no effect";
  case KeySupport::OutOfScope:
    return "out of scope";
  case KeySupport::Refused:
    return "refused";
  }
  return "";
}

bool hasType(const Value &value, Type type) {
  if (value.isNull() || value.isAuto()) {
    return true;
  }
  switch (type) {
  case Type::Bool:
    return value.boolean().has_value();
  case Type::Integer:
    return value.integer().has_value();
  case Type::Number:
    return value.number().has_value();
  case Type::Text:
    return value.kind == Value::Kind::Scalar;
  case Type::List:
    return value.isList();
  case Type::Section:
    return value.isMap();
  case Type::Any:
    return true;
  }
  return false;
}

bool asks(const Value &value, const Key &key) {
  if (value.isNull() || value.isAuto()) {
    return false;
  }
  if (key.type == Type::List) {
    return value.shown() != key.value;
  }
  if (value.kind != Value::Kind::Scalar) {
    bool there = false, on = false;
    lookForEnabled(value, there, on);
    return there ? on : !value.children.empty();
  }
  Value fallback;
  if (key.value != "null") {
    bool quoted = key.value.front() == '"';
    fallback = Value::of(
        quoted ? key.value.substr(1, key.value.size() - 2) : key.value, 0);
  }
  switch (key.type) {
  case Type::Bool:
    return value.boolean() != fallback.boolean().value_or(false);
  case Type::Integer:
  case Type::Number:
    return value.number() != fallback.number();
  default:
    return !absl::EqualsIgnoreCase(value.text, fallback.text) &&
           value.boolean() != false &&
           !absl::EqualsIgnoreCase(value.text, "none");
  }
}

} // namespace zerograph::config
