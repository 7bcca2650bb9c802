//===- Keys.h - the table of configuration keys ---------------------------===//

#ifndef ZEROGRAPH_CONFIG_KEYS_H
#define ZEROGRAPH_CONFIG_KEYS_H

#include "config/Value.h"

#include <string>

#include <vector>

namespace zerograph::config {

class Translation;
struct Converter;
struct ConfigEntry;

enum class Type { Bool, Integer, Number, Text, List, Any, Section };

/// The effect that a key has here.
enum class KeySupport { Applied, Differently, NoEffect, OutOfScope, Refused };

/// Whose files have a key.
enum class Dialect { DeepSpeed, Accelerate };

/// A row of Keys.def.
struct Key {
  Dialect dialect;
  std::string path; ///< "zero_optimization.stage"
  Type type;
  std::string value; ///< its default, as in a file
  KeySupport does;
  std::string option;         ///< that it sets, without dashes; or ""
  const Converter *converter; ///< never null
  std::string text;           ///< why, or how; may be empty
  /// For Accelerate: the DeepSpeed key it stands for, or "".
  std::string target;
  std::string on; ///< for a section: the key in it without which it is off
};

/// Another spelling of a key, or of a section.
struct Alias {
  std::string path, target, text;
};

/// All rows in the order of the table; sections as well.
const std::vector<Key> &keys();
const std::vector<Alias> &aliases();

/// Return the two parts of a path: "stage" of "zero_optimization.stage", and
/// the section that it is in, or "".
absl::string_view leafOf(absl::string_view path);
absl::string_view parentOf(absl::string_view path);

/// The row of a path, or null.
const Key *findKey(Dialect dialect, absl::string_view path);
const Alias *findAlias(absl::string_view path);

/// "did you mean 'zero_optimization.stage'?", or nothing where no key is near.
std::string nearestKey(Dialect dialect, absl::string_view path);

/// "an integer", for messages.
absl::string_view nameOf(Type type);
/// "applied differently".
absl::string_view nameOf(KeySupport does);

/// Returns whether `value` has the type; null and auto have each.
bool hasType(const Value &value, Type type);

/// Returns whether `value` asks for something that the default does not: a
/// section without `enabled: true` anywhere, but with `enabled`, asks for
/// nothing.
bool asks(const Value &value, const Key &key);

} // namespace zerograph::config

#endif // ZEROGRAPH_CONFIG_KEYS_H
