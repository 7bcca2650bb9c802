//===- Memory.h - what `--memory` means -----------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_MEMORY_H
#define ZEROGRAPH_OPTIONS_MEMORY_H

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace zerograph::options {

/// Most bytes of a rank; 0: any.
struct MemoryLimits {
  int64_t device = 0; // of its device
  int64_t host = 0;   // of the host, pinned memory included
  std::string error;  // what is wrong with the text; empty: nothing
};

namespace detail {

/// "80GiB", "1.5GiB", "1000000"; 0 where it is no number of bytes above 0.
inline int64_t parseBytes(std::string_view text) {
  constexpr double kMost = double(int64_t(1) << 50);
  if (text.empty() || text[0] < '0' || text[0] > '9') {
    return 0; // from_chars takes signs and names
  }
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                      number, std::chars_format::fixed);
  std::string_view unit = text.substr(size_t(end - text.data()));
  int shift = unit.empty()    ? 0
              : unit == "KiB" ? 10
              : unit == "MiB" ? 20
              : unit == "GiB" ? 30
              : unit == "TiB" ? 40
                              : -1;
  bool fraction = text.find('.') != std::string_view::npos;
  if (error != std::errc() || shift < 0 || (fraction && shift == 0)) {
    return 0;
  }
  double bytes = number * double(int64_t(1) << shift);
  return bytes <= kMost ? int64_t(bytes) : 0;
}

} // namespace detail

/// "80GiB", "device=80GiB,host=256GiB"; "" sets no limit.
inline MemoryLimits parseMemory(std::string_view text) {
  MemoryLimits limits;
  for (bool more = !text.empty(); more;) {
    size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : text.size());
    size_t equals = part.find('=');
    bool named = equals != std::string_view::npos;
    std::string_view space = named ? part.substr(0, equals) : "device";
    int64_t bytes = detail::parseBytes(named ? part.substr(equals + 1) : part);
    int64_t *limit = space == "device" ? &limits.device
                     : space == "host" ? &limits.host
                                       : nullptr;
    if (!limit || *limit != 0 || bytes == 0) {
      limits.error = "'" + std::string(part) +
                     "': expected BYTES, or device=BYTES and host=BYTES with a "
                     "comma between, each a number of bytes, KiB, MiB, GiB or "
                     "TiB, as device=80GiB,host=512GiB";
      return limits;
    }
    *limit = bytes;
  }
  return limits;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_MEMORY_H
