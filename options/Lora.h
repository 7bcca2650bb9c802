//===- Lora.h - what `--lora` means ---------------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_LORA_H
#define ZEROGRAPH_OPTIONS_LORA_H

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace zerograph::options {

/// Weights that get low-rank adapters.
struct Lora {
  int64_t rank = 0;
  std::string pattern; // a glob over whole names
  std::string error;   // what is wrong with the text; empty: nothing
};

/// "RANK:PATTERN".
inline Lora parseLora(std::string_view text) {
  Lora lora;
  size_t colon = std::min(text.find(':'), text.size());
  const char *end = text.data() + colon;
  auto read = std::from_chars(text.data(), end, lora.rank);
  lora.pattern = text.substr(std::min(colon + 1, text.size()));
  if (read.ec != std::errc() || read.ptr != end || lora.rank < 1 ||
      lora.rank > 1 << 16 || lora.pattern.empty()) {
    lora.error = "expected R:PATTERN with a rank R from 1 to 65536, as in "
                 "8:*attn*";
  }
  return lora;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_LORA_H
