//===- Write.cpp - the DeepSpeed file of options --------------------------===//

#include "config/Write.h"

#include "config/Converters.h"
#include "config/FileWriter.h"
#include "options/Options.h"

#include <cmath>
#include <type_traits>

namespace zerograph::config {
namespace {

/// A field's value as on a command line; empty where it has none.
template <typename T>
std::string textOf(const T &value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::isnan(value) ? "" : numberText(value);
  } else {
    return "";
  }
}

} // namespace

std::string defaultOf(const std::string &option) {
  options::Compile fields;
#define ZG_COMPILE_OPTION(type, field, value, name, ...)                       \
  if (option == name) {                                                        \
    return textOf(fields.field);                                               \
  }
#include "options/Options.def"
  return "";
}

Written writeDeepSpeed(const std::map<std::string, std::string> &given) {
  FileWriter file(given);
  for (const Key &key : keys()) {
    if (key.dialect != Dialect::DeepSpeed || key.converter->read == nullptr) {
      continue;
    }
    if (key.converter->write != nullptr) {
      key.converter->write(key, file);
    } else {
      file.putGiven(key);
    }
  }
  return file.finish();
}

} // namespace zerograph::config
