//===- LittleEndian.h - numbers as ZIP and pickle have them ---------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TORCH_LITTLEENDIAN_H
#define ZEROGRAPH_RUNTIME_IO_TORCH_LITTLEENDIAN_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace zerograph {

/// The number in `count` bytes, at most 8, which are there.
inline uint64_t littleEndian(const char *bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) {
    value = value << 8 | uint8_t(bytes[i]);
  }
  return value;
}

inline void appendLittleEndian(std::string &bytes, uint64_t value,
                               size_t count) {
  for (size_t i = 0; i < count; ++i) {
    bytes.push_back(char(value >> (8 * i) & 0xff));
  }
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_TORCH_LITTLEENDIAN_H
