//===- Value.h - what a configuration file holds --------------------------===//

#ifndef ZEROGRAPH_CONFIG_VALUE_H
#define ZEROGRAPH_CONFIG_VALUE_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <optional>
#include <string>

#include <vector>

namespace zerograph::config {

/// A value of a file, as written: what type it has is decided by who reads it,
/// as DeepSpeed does (5e8 is an integer, "2" a number).
struct Value {
  enum class Kind { Null, Scalar, List, Map };

  Kind kind = Kind::Null;
  std::string name; ///< set for a map's child
  std::string text; ///< a scalar's, without quotes
  bool quoted = false;
  int line = 0;                ///< counted from 1
  std::vector<Value> children; ///< in the file's order; a map's may repeat

  bool isNull() const { return kind == Kind::Null; }
  bool isMap() const { return kind == Kind::Map; }
  bool isList() const { return kind == Kind::List; }
  /// The word that leaves a value to whoever reads it.
  bool isAuto() const { return kind == Kind::Scalar && text == "auto"; }

  std::optional<bool> boolean() const;
  /// A whole number, also as 5e8 or 2.0.
  std::optional<int64_t> integer() const;
  /// A finite number.
  std::optional<double> number() const;
  /// On one line, as JSON; long ones are cut.
  std::string shown() const;

  /// A scalar that no file has.
  static Value of(std::string text, int line);
};

/// Reads JSON, hjson or YAML: what begins with a brace is taken for the first
/// two. Errors name the line. At most 100,000 values, 64 of them in each other.
absl::StatusOr<Value> parseValue(absl::string_view text);

/// Translates hjson, in which commas may be missing or too many, keys without
/// quotes and comments of three kinds, to YAML, line for line.
absl::StatusOr<std::string> yamlOfHjson(absl::string_view text);

/// The shortest text that reads back as `number`.
std::string numberText(double number);

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_VALUE_H
