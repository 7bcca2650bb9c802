//===- ByteMap.h - a value for each byte ----------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_BYTEMAP_H
#define ZEROGRAPH_RUNTIME_PLAN_BYTEMAP_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace zerograph {

/// Values of ranges of bytes; each byte has at most one. Logarithmic in the
/// number of ranges.
template <typename Value>
class ByteMap {
public:
  /// The bytes of [begin, end) have this value from now on.
  void assign(uint64_t begin, uint64_t end, Value value) {
    erase(begin, end);
    if (begin < end) {
      pieces.emplace(begin, Piece{end, std::move(value)});
    }
  }

  /// The bytes of [begin, end) have none.
  void erase(uint64_t begin, uint64_t end) {
    auto it = pieces.lower_bound(begin);
    if (it != pieces.begin() && std::prev(it)->second.end > begin) {
      Piece &left = std::prev(it)->second;
      if (left.end > end) {
        pieces.emplace(end, left);
      }
      left.end = begin;
    }
    while (it != pieces.end() && it->first < end) {
      Piece rest = std::move(it->second);
      it = pieces.erase(it);
      if (rest.end > end) {
        pieces.emplace(end, std::move(rest));
        return;
      }
    }
  }

  void clear() { pieces.clear(); }
  bool empty() const { return pieces.empty(); }

  /// Calls visit(first, last, value) for the parts of [begin, end) in order
  /// that have one.
  template <typename Visit>
  void visit(uint64_t begin, uint64_t end, Visit visit) const {
    auto it = pieces.upper_bound(begin);
    if (it != pieces.begin() && std::prev(it)->second.end > begin) {
      --it;
    }
    for (; it != pieces.end() && it->first < end; ++it) {
      visit(std::max(it->first, begin), std::min(it->second.end, end),
            it->second.value);
    }
  }

  /// Returns whether some byte of [begin, end) has a value.
  bool touches(uint64_t begin, uint64_t end) const {
    bool found = false;
    visit(begin, end, [&](uint64_t, uint64_t, const Value &) { found = true; });
    return found;
  }

  /// The first part of [begin, end) without values.
  std::optional<std::pair<uint64_t, uint64_t>> firstGap(uint64_t begin,
                                                        uint64_t end) const {
    std::optional<std::pair<uint64_t, uint64_t>> gap;
    uint64_t reached = begin;
    visit(begin, end, [&](uint64_t first, uint64_t last, const Value &) {
      if (!gap && first > reached) {
        gap = {reached, first};
      }
      reached = last;
    });
    if (!gap && reached < end) {
      gap = {reached, end};
    }
    return gap;
  }

private:
  struct Piece {
    uint64_t end;
    Value value;
  };
  std::map<uint64_t, Piece> pieces; // by first byte
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_BYTEMAP_H
