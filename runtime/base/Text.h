//===- Text.h - numbers for people ----------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_TEXT_H
#define ZEROGRAPH_RUNTIME_BASE_TEXT_H

#include <cstdint>
#include <string>

namespace zerograph {

/// "1,234,567".
inline std::string grouped(uint64_t value) {
  std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) {
      text += ',';
    }
    text += digits[i];
  }
  return text;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_TEXT_H
