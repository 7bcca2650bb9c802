//===- Writers.h - which step wrote the bytes of an arena ----------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_WRITERS_H
#define ZEROGRAPH_RUNTIME_PLAN_WRITERS_H

#include "runtime/plan/Ranges.h"

#include <algorithm>
#include <map>
#include <vector>

namespace zerograph {

/// What was written last to each byte of the arenas, as one rank sees it, while
/// steps are taken in issue order.
class Writers {
public:
  /// Bytes that were written together: byte i of them lies at `base` + i.
  struct Piece {
    uint64_t end = 0;
    uint64_t origin = 0; // who wrote them; 0: nobody
    uint64_t base = 0;
  };

  Writers(const plan::Plan &plan, uint32_t rank)
      : rank(rank), arenas(plan.arenas_size()) {}

  void write(const Range &range, uint64_t origin);

  /// Calls visit(begin, piece) for what [range) is made of, in order; begin and
  /// piece.end are bytes of the arena within the range.
  template <typename Visit>
  void read(const Range &range, Visit visit) const {
    const auto &pieces = arenas[range.arena];
    uint64_t at = range.begin + rank * range.stride;
    uint64_t end = at + range.bytes;
    auto it = pieces.upper_bound(at);
    if (it != pieces.begin() && std::prev(it)->second.end > at) {
      --it;
    }
    while (at < end) {
      uint64_t next = it == pieces.end() ? end : std::min(it->first, end);
      if (at < next) {
        visit(at, Piece{next, 0, at});
        at = next;
      }
      if (at < end) {
        Piece piece = it->second;
        piece.end = std::min(piece.end, end);
        visit(at, piece);
        at = piece.end;
        ++it;
      }
    }
  }

private:
  uint32_t rank;
  std::vector<std::map<uint64_t, Piece>> arenas; // by first byte
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_WRITERS_H
