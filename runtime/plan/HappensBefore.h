//===- HappensBefore.h - the order that a program guarantees --------------===//
//
// Steps of different streams run at the same time unless something orders
// them: the order of each stream, the waits, and the one order of collectives,
// which a communicator keeps whatever streams they are on. Programs run one
// after another; all streams are idle in between.
//
// Each step has a vector clock: how many steps of every stream are certain to
// have finished when it starts, itself included on its own.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_HAPPENSBEFORE_H
#define ZEROGRAPH_RUNTIME_PLAN_HAPPENSBEFORE_H

#include "runtime/plan/plan.pb.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace zerograph {

/// The most streams of a plan.
inline constexpr int kMaxStreams = 16;
/// Steps of each stream, counted from its beginning.
using Clock = std::array<uint32_t, kMaxStreams>;

class HappensBefore {
public:
  /// Linear in steps and waits. The program must be valid: its waits name
  /// earlier steps, its streams exist.
  explicit HappensBefore(const plan::Program &program);

  /// True if step `a` has finished before step `b` starts in every run.
  bool before(size_t a, size_t b) const {
    return a != b && clocks[b][streams[a]] >= positions[a];
  }
  bool ordered(size_t a, size_t b) const {
    return before(a, b) || before(b, a);
  }

  /// Returns, of each stream, how many steps have finished when `step` starts;
  /// itself counts.
  const Clock &clock(size_t step) const { return clocks[step]; }
  uint8_t stream(size_t step) const { return streams[step]; }
  /// 1 for the first step of a stream.
  uint32_t position(size_t step) const { return positions[step]; }
  size_t size() const { return clocks.size(); }

private:
  std::vector<Clock> clocks;
  std::vector<uint8_t> streams;
  std::vector<uint32_t> positions;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_HAPPENSBEFORE_H
