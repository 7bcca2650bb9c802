//===- BlockOrder.h - what blocks of a launch know of each other ----------===//
//
// Blocks come in any order. What one did is done for another only if a thread
// of the first passed a fence and then an atomic operation, and a thread of the
// second came to the same place by an atomic operation later and then passed a
// fence: "PTX ISA", chapter 8, release and acquire patterns. A barrier of the
// block carries that to and from the other threads of each.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_BLOCKORDER_H
#define ZEROGRAPH_TESTS_EMULATOR_BLOCKORDER_H

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace zerograph::emulator {

/// A thread at a moment: what it does later than a barrier of its block, or of
/// its warp, comes after what the others did before.
struct Moment {
  uint32_t block = 0;
  uint16_t thread = 0;
  uint16_t barriers = 0;
  uint32_t warpSyncs = 0;
};

class BlockOrder {
public:
  /// Notes that a thread passes a fence.
  void fence(const Moment &moment);
  /// Notes that a thread changes the word at this address atomically.
  void arrive(const Moment &moment, uint64_t address);
  /// Returns whether what was done at `before`, in another block, is done for
  /// who acts now.
  bool isOrdered(const Moment &before, const Moment &now) const;

private:
  /// Has what a block did before its barrier of this number.
  struct Release {
    uint32_t block;
    uint16_t barriers;
  };
  /// Says that a block knows a release from a moment on.
  struct Acquired {
    uint16_t barriers;
    Moment since;
  };
  using Thread = std::pair<uint32_t, uint16_t>;

  std::map<Thread, uint16_t> fenced; // at this barrier of its block
  std::map<uint64_t, std::vector<Release>> arrived;
  /// Are known to a thread once it passes a fence.
  std::map<Thread, std::vector<Release>> seen;
  /// Maps a block, and one that it knows of.
  std::map<std::pair<uint32_t, uint32_t>, Acquired> acquired;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_BLOCKORDER_H
