//===- StoredZip.h - a small ZIP file -------------------------------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_STOREDZIP_H
#define ZEROGRAPH_TESTS_SUPPORT_STOREDZIP_H

#include "runtime/base/LittleEndian.h"

#include <initializer_list>
#include <string>
#include <utility>

namespace zerograph::testing {

/// Returns a ZIP file of one stored entry, whose sizes and place stand in
/// fields of 64 bits, as in files beyond 4 GiB (APPNOTE.TXT of PKWARE, 4.3
/// and 4.5).
inline std::string storedZip(const std::string &name,
                             const std::string &content) {
  using Fields = std::initializer_list<std::pair<uint64_t, size_t>>;
  auto record = [](const Fields &fields) {
    std::string bytes;
    for (auto [value, count] : fields) {
      appendLittleEndian(bytes, value, count);
    }
    return bytes;
  };
  constexpr uint64_t kLarge = 0xffffffff;
  uint64_t size = content.size();
  std::string file = record({{0x04034b50, 4},
                             {45, 2},
                             {0, 2},
                             {0, 2},
                             {0, 4},
                             {0, 4},
                             {size, 4},
                             {size, 4},
                             {name.size(), 2},
                             {0, 2}}) +
                     name + content;
  uint64_t begin = file.size();
  file += record({{0x02014b50, 4},
                  {45, 2},
                  {45, 2},
                  {0, 2},
                  {0, 2},
                  {0, 4},
                  {0, 4},
                  {kLarge, 4},
                  {kLarge, 4},
                  {name.size(), 2},
                  {28, 2},
                  {0, 2},
                  {0, 2},
                  {0, 2},
                  {0, 4},
                  {kLarge, 4}}) +
          name + record({{1, 2}, {24, 2}, {size, 8}, {size, 8}, {0, 8}});
  uint64_t end = file.size();
  file += record({{0x06064b50, 4},
                  {44, 8},
                  {45, 2},
                  {45, 2},
                  {0, 4},
                  {0, 4},
                  {1, 8},
                  {1, 8},
                  {end - begin, 8},
                  {begin, 8}});
  file += record({{0x07064b50, 4}, {0, 4}, {end, 8}, {1, 4}});
  return file + record({{0x06054b50, 4},
                        {0, 2},
                        {0, 2},
                        {0xffff, 2},
                        {0xffff, 2},
                        {kLarge, 4},
                        {kLarge, 4},
                        {0, 2}});
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_STOREDZIP_H
