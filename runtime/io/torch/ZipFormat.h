//===- ZipFormat.h - what reading and writing ZIP files share -------------===//
//
// APPNOTE.TXT of PKWARE, 4.3 and 4.5: records, and numbers that need 64 bits.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TORCH_ZIPFORMAT_H
#define ZEROGRAPH_RUNTIME_IO_TORCH_ZIPFORMAT_H

#include <cstdint>

namespace zerograph::zip {

/// The bytes that a record begins with, and its bytes without names and fields.
struct Record {
  const char *name;
  uint32_t signature;
  uint64_t bytes;
};

inline constexpr Record kHeader = {"header of an entry", 0x04034b50, 30};
inline constexpr Record kEntry = {"entry of the directory", 0x02014b50, 46};
inline constexpr Record kLargeEnd = {"end with 64 bits", 0x06064b50, 56};
inline constexpr Record kLocator = {"place of that end", 0x07064b50, 20};
inline constexpr Record kEnd = {"end", 0x06054b50, 22};

/// Instead of a number of 32 bits that stands in a field of this kind.
inline constexpr uint64_t kLarge = 0xffffffff;
inline constexpr uint64_t kLargeField = 0x0001;
/// A flag of an entry.
inline constexpr uint64_t kEncrypted = 1;

} // namespace zerograph::zip

#endif // ZEROGRAPH_RUNTIME_IO_TORCH_ZIPFORMAT_H
