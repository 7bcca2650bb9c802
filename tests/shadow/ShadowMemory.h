//===- ShadowMemory.h - what every word of a rank's arenas holds ----------===//

#ifndef ZEROGRAPH_TESTS_SHADOW_SHADOWMEMORY_H
#define ZEROGRAPH_TESTS_SHADOW_SHADOWMEMORY_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace zerograph::testing {

/// Stands in every error of a ShadowMemory.
inline constexpr char kShadowFound[] = " and finds at word ";

/// Keeps beside each word of memory whose it is: the slice through which it was
/// written last, a step that is just writing it, or nobody. When a slice's
/// stated life is over its words are nobody's and full of NaNs. Steps say when
/// they begin and end, in the order of a run; thread-safe.
class ShadowMemory {
public:
  /// The plan outlives it.
  ShadowMemory(const plan::Plan &plan, uint32_t rank);

  /// The arenas in the plan's order, before the first step.
  void addArena(std::byte *data, uint64_t bytes);

  /// Each: OK, or what a step reads that is not of the slice that it reads, or
  /// what others have written where it writes.
  /// A collective begins when those before it have ended, as a communicator
  /// has it.
  absl::Status begin(int program, int step);
  absl::Status end(int program, int step);
  /// A step has failed: nobody waits any more.
  void fail();

private:
  using Word = uint32_t;
  struct Words {
    Word *first;
    uint64_t count;
  };

  void beginProgram(int program);
  void claim(int slice);
  void poison(int slice);
  Words words(int slice);
  Words words(const plan::Access &access);
  absl::Status expect(int program, int step, const plan::Access &access,
                      Word or_else);

  const plan::Plan &plan;
  uint32_t rank;
  std::mutex mutex;
  std::condition_variable turn;
  uint32_t collectives = 0; // of the program, that have ended
  bool failed = false;
  std::vector<std::byte *> memory;       // by arena
  std::vector<std::vector<Word>> owners; // by arena
  std::vector<uint32_t> uses;            // by slice, to come in its life
  int steps_left = 0;
};

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SHADOW_SHADOWMEMORY_H
