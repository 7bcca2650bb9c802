//===- Block.h - the threads of a block of CUDA ---------------------------===//
//
// CUDA's threads are fibers of one thread of the CPU. Each runs until it waits
// for others; who runs next is drawn at random.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_BLOCK_H
#define ZEROGRAPH_TESTS_EMULATOR_BLOCK_H

#include "tests/emulator/Accesses.h"
#include "tests/emulator/Fibers.h"
#include "tests/emulator/Traffic.h"

#include "absl/status/status.h"

#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace zerograph::emulator {

/// An array that the threads of a block share.
struct SharedArray {
  std::string name;
  uint64_t bytes = 0;
  /// Bytes of an element.
  uint32_t element = 0;
};

class Block {
public:
  /// Makes a block; `accesses` checks what its threads touch, also of the
  /// arrays that they share. `recorder` may be null.
  Block(Accesses &accesses, const std::vector<SharedArray> &arrays,
        TrafficRecorder *recorder = nullptr);

  /// Runs block `number` of `threads` threads, which all call `kernel`. The
  /// first thing that no GPU defines ends it, as an error.
  absl::Status run(uint32_t number, uint32_t threads,
                   const std::function<void()> &kernel, std::mt19937 &order);

  /// The block whose thread calls; what kernels call instead of instructions.
  static Block &current();
  /// Ends the block with an error, from one of its threads.
  [[noreturn]] void fail(const std::string &what);
  uint32_t thread() const { return running; }
  /// `site` is the statement of the kernel that accesses the bytes; 0: the
  /// access is part of another one.
  void touch(uintptr_t address, uint32_t bytes, Access access, uint32_t site);
  /// Returns where the shared arrays begin.
  std::vector<void *> shared();
  /// The value of the thread of the warp whose place differs by `bit`.
  uint32_t shuffleXor(uint32_t mask, uint32_t value, uint32_t bit);
  /// Bit i is the condition of thread i.
  uint32_t ballot(uint32_t mask, bool condition);
  void syncWarp(uint32_t mask);
  void syncBlock();
  /// Orders what this thread knows of before what it does later, for other
  /// blocks too.
  void fence();
  /// Counts the word at an address, and returns what it was: a word that was
  /// `last` becomes 0.
  uint32_t count(uintptr_t address, uint32_t last);

  /// Copies 16 bytes, of which the last are zeros from `bytes` on, when this
  /// thread waits for its copies.
  void copyLater(char *to, const char *from, uint32_t bytes, uint32_t site);
  void finishCopies();

  /// Holds the operands that a thread passes to an instruction of its whole
  /// warp.
  using Words = std::array<uint32_t, 6>;
  /// Returns what each thread of the warp gave, once all have come.
  const Words *together(const char *instruction, const Words &own) {
    return meet(instruction, ~0u, own);
  }
  /// Returns the number of this thread in its warp.
  uint32_t lane() const { return running % kWarp; }

private:
  /// The state of what a warp does together: the threads of `mask` come to one
  /// instruction, each with a value, and go on once all have come.
  struct Warp {
    uint32_t alive = 0, arrived = 0, mask = 0;
    const char *instruction = nullptr;
    uint64_t meetings = 0;
    /// The values of the meeting now and of the one before it, which some still
    /// read.
    Words values[2][kWarp] = {};
    uint32_t syncs = 0;
  };
  Warp &warp() { return warps[running / kWarp]; }
  /// Returns the running thread, now.
  Moment now() {
    return {block, uint16_t(running), uint16_t(barriers), warp().syncs};
  }
  /// The values of all, once all have come.
  const Words *meet(const char *instruction, uint32_t mask, const Words &own);
  void onEnd();
  /// Counts meetings, barriers and ends: what a turn of all threads must raise.
  uint64_t progress() const;
  static void start(void *block);

  /// The unit that a shared array is aligned to.
  struct alignas(16) Unit {
    char bytes[16];
  };

  Accesses &accesses;
  TrafficRecorder *recorder;
  size_t firstShared = 0; // of the buffers that `accesses` has
  std::vector<std::vector<Unit>> arrays;
  Fibers fibers;
  std::vector<Warp> warps;
  struct Copy {
    char *to;
    std::array<char, 16> value;
  };
  /// Are those of each thread that it has not waited for.
  std::vector<std::vector<Copy>> copies;
  const std::function<void()> *kernel = nullptr;
  uint32_t block = 0, running = 0;
  uint32_t alive = 0, atBarrier = 0;
  uint32_t barriers = 0;
  absl::Status error;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_BLOCK_H
