//===- IndexFormat.h - what writing and reading an index share ------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_INDEXFORMAT_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_INDEXFORMAT_H

#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>

namespace zerograph {

inline constexpr char kFormat[] = "zerograph checkpoint";

/// Around the checksum, at the end of the text.
inline constexpr absl::string_view kChecksumBegin = ",\n\"xxh3\": \"";
inline constexpr absl::string_view kChecksumEnd = "\"\n}\n";

/// 16 lower-case digits.
std::string hexOf(uint64_t checksum);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_INDEXFORMAT_H
