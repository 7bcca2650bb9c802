//===- Writers.cpp - which step wrote the bytes of an arena --------------===//

#include "runtime/plan/Writers.h"

namespace zerograph {

void Writers::write(const Range &range, uint64_t origin) {
  auto &pieces = arenas[range.arena];
  uint64_t begin = range.begin + rank * range.stride;
  uint64_t end = begin + range.bytes;
  if (begin == end) {
    return;
  }
  auto it = pieces.lower_bound(begin);
  if (it != pieces.begin() && std::prev(it)->second.end > begin) {
    Piece &left = std::prev(it)->second;
    if (left.end > end) {
      it = pieces.emplace_hint(it, end, left);
    }
    left.end = begin;
  }
  while (it != pieces.end() && it->first < end) {
    Piece rest = it->second;
    it = pieces.erase(it);
    if (rest.end > end) {
      it = pieces.emplace_hint(it, end, rest);
    }
  }
  pieces.emplace_hint(it, begin, Piece{end, origin, begin});
}

} // namespace zerograph
