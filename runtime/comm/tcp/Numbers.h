//===- Numbers.h - little-endian numbers in bytes -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_TCP_NUMBERS_H
#define ZEROGRAPH_RUNTIME_COMM_TCP_NUMBERS_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>

namespace zerograph::tcp {

inline void putNumber(std::string &bytes, uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) {
    bytes += char(value >> (8 * i) & 0xff);
  }
}

/// Returns the first `size` bytes of `bytes`, which has so many.
inline uint64_t takeNumber(absl::string_view bytes, unsigned size) {
  uint64_t value = 0;
  for (unsigned i = 0; i < size; ++i) {
    value |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  }
  return value;
}

} // namespace zerograph::tcp

#endif // ZEROGRAPH_RUNTIME_COMM_TCP_NUMBERS_H
