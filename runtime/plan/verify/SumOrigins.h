//===- SumOrigins.h - buffers that hold a sum of gradients for a while ----===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_SUMORIGINS_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_SUMORIGINS_H

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <map>
#include <optional>

namespace zerograph::verify {

/// Bytes of a carried sum of gradients, and whether something was added to them
/// since the micro-batch began.
struct SumPart {
  uint32_t sum = 0; // the slice that is carried
  uint64_t offset = 0;
  bool added = false;
};

/// The host, or the rank's file, may keep a sum that the device adds to: then
/// it is copied to a buffer, and back. Says of which sum a buffer is a copy, at
/// this point of a program.
class SumOrigins {
public:
  /// Of what an access of a buffer touches; nothing if that is no copy of bytes
  /// of one sum that lie in a row.
  std::optional<SumPart> of(const plan::Access &access) const {
    auto buffer = buffers.find(access.slice());
    std::optional<SumPart> part;
    if (buffer == buffers.end() || access.strides_size() != 0) {
      return part;
    }
    uint64_t begin = access.offset(), reached = begin;
    bool one = true;
    buffer->second.visit(
        begin, begin + access.bytes(),
        [&](uint64_t first, uint64_t last, const Shifted &piece) {
          SumPart here{piece.sum, uint64_t(int64_t(first) + piece.shift),
                       piece.added};
          one &=
              first == reached &&
              (!part || (part->sum == here.sum && part->added == here.added &&
                         part->offset + (first - begin) == here.offset));
          part = part ? part : here;
          reached = last;
        });
    return one && reached == begin + access.bytes() ? part : std::nullopt;
  }

  /// What an access of a buffer touches is this from now on, or no sum.
  void set(const plan::Access &access, const std::optional<SumPart> &part) {
    uint64_t begin = access.offset(), end = begin + access.bytes();
    if (part && access.strides_size() == 0) {
      buffers[access.slice()].assign(
          begin, end,
          {part->sum, int64_t(part->offset) - int64_t(begin), part->added});
    } else if (auto it = buffers.find(access.slice()); it != buffers.end()) {
      // Where other ranks write is of no concern: they have their own.
      access.strides_size() == 0 ? it->second.erase(begin, end)
                                 : it->second.clear();
    }
  }

  void clear() { buffers.clear(); }

private:
  struct Shifted {
    uint32_t sum;
    int64_t shift; // from a byte of the buffer to that of the sum
    bool added;
  };
  std::map<uint32_t, ByteMap<Shifted>> buffers; // by slice
};

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_SUMORIGINS_H
