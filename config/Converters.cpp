//===- Converters.cpp - the kinds of most keys ----------------------------===//

#include "config/Converters.h"

#include "config/Translation.h"

namespace zerograph::config {

void readSame(const ConfigEntry &found, Translation &to) {
  const Key &key = *found.key;
  std::string text = found.value.text;
  if (key.type == Type::Bool) {
    if (!*found.value.boolean()) {
      to.noEffect("off");
      return;
    }
    text = "true";
  } else if (key.type == Type::Integer) {
    text = absl::StrCat(*found.value.integer());
  } else if (key.type == Type::Number) {
    text = numberText(*found.value.number());
  }
  to.set(found, key.option, text, !asks(found.value, key));
}

void readUnless(const std::string &reason, const ConfigEntry &found,
                Translation &to) {
  if (reason.empty()) {
    readSame(found, to);
  } else {
    to.noEffect(reason);
  }
}

const Converter none;
const Converter same = {.read = readSame};

} // namespace zerograph::config
