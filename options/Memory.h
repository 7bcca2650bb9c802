//===- Memory.h - what `--memory` means -----------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_MEMORY_H
#define ZEROGRAPH_OPTIONS_MEMORY_H

#include "options/Cards.h"
#include "options/Sizes.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace zerograph::options {

/// Most bytes of a rank; 0: any.
struct MemoryLimits {
  int64_t device = 0;         // of its device
  int64_t host = 0;           // of the host, pinned memory included
  const Card *card = nullptr; // that the device's limit was given by
  std::string error;          // what is wrong with the text; empty: nothing
};

/// "80GiB", "device=80GB,host=256GiB", "h100"; "" sets no limit. A card's name
/// stands for what its arena can have there, with `ranks` ranks.
inline MemoryLimits parseMemory(std::string_view text, int64_t ranks) {
  MemoryLimits limits;
  for (bool more = !text.empty(); more;) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : text.size());
    size_t equals = part.find('=');
    bool named = equals != std::string_view::npos;
    std::string_view space = named ? part.substr(0, equals) : "device";
    std::string_view value = named ? part.substr(equals + 1) : part;
    const Card *card = space == "device" ? findCard(value) : nullptr;
    int64_t bytes = card ? usableBytes(*card, ranks) : parseBytes(value);
    int64_t *limit = space == "device" ? &limits.device
                     : space == "host" ? &limits.host
                                       : nullptr;
    if (!limit || *limit != 0 || bytes == 0) {
      limits.error = "'" + std::string(part) +
                     "': expected BYTES, or device=BYTES and host=BYTES with a "
                     "comma between, each a number of bytes, KiB, MiB, GiB, "
                     "TiB, KB, MB, GB or TB, as device=80GiB,host=512GB; for "
                     "the device also a card: " +
                     cardNames();
      return limits;
    }
    *limit = bytes;
    limits.card = card ? card : limits.card;
  }
  return limits;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_MEMORY_H
