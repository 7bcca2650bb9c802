//===- Sizes.h - bytes as people write and read them ----------------------===//

#ifndef ZEROGRAPH_OPTIONS_SIZES_H
#define ZEROGRAPH_OPTIONS_SIZES_H

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>

namespace zerograph::options {

/// Bytes of "KiB" (1024), "KB" (1000) and so on; "" is 1. 0 for anything else.
inline double unitBytes(std::string_view unit) {
  if (unit.empty()) {
    return 1;
  }
  size_t power = std::string_view("KMGT").find(unit[0]);
  bool binary = unit.substr(1) == "iB";
  if (power == std::string_view::npos || (!binary && unit.substr(1) != "B")) {
    return 0;
  }
  double bytes = 1;
  for (size_t i = 0; i <= power; ++i) {
    bytes *= binary ? 1024 : 1000;
  }
  return bytes;
}

/// The bytes of "80GiB", "80GB", "1.5GiB" or "1000000"; 0 where the text is no
/// number of bytes above 0 and up to 2^50.
inline int64_t parseBytes(std::string_view text) {
  constexpr double kMost = double(int64_t(1) << 50);
  if (text.empty() || text[0] < '0' || text[0] > '9') {
    return 0; // from_chars takes signs and names
  }
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(),
                                      number, std::chars_format::fixed);
  double unit = unitBytes(text.substr(size_t(end - text.data())));
  bool fraction = text.find('.') != std::string_view::npos;
  if (error != std::errc() || (fraction && unit == 1)) {
    return 0;
  }
  double bytes = number * unit;
  return bytes <= kMost ? int64_t(bytes) : 0;
}

/// "1.53 GiB", "20.1 MiB", "203 KiB", "12 B": three digits, rounded.
inline std::string sizeText(uint64_t bytes) {
  const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double number = double(bytes);
  size_t unit = 0;
  for (; number >= 999.5; ++unit) {
    number /= 1024;
  }
  int digits = unit == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f %s", digits, number, units[unit]);
  return text;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_SIZES_H
