//===- Accesses.h - what the threads of a launch read and write -----------===//
//
// Every element of the launch's buffers remembers who last wrote and who last
// read it. Two threads that touch an element, one of them writing, and that
// nothing has put in order are an error, whatever order they had this time.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_ACCESSES_H
#define ZEROGRAPH_TESTS_EMULATOR_ACCESSES_H

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph::emulator {

inline constexpr uint32_t kWarp = 32;

/// A thread at a moment: what it does later than a barrier of its block, or of
/// its warp, comes after what the others did before.
struct Moment {
  uint32_t block = 0;
  uint16_t thread = 0;
  uint16_t barriers = 0;
  uint32_t warpSyncs = 0;
};

/// Bytes that a launch may touch, or only read. Two buffers either are the same
/// bytes or share none.
struct Buffer {
  std::string name;
  void *begin = nullptr;
  uint64_t bytes = 0;
  /// Bytes of an element: whoever touches one touches all of it. 0: nobody
  /// looks for conflicts.
  uint32_t element = 1;
  bool mayWrite = true;
};

class Accesses {
public:
  void add(const Buffer &buffer);

  /// Empty, or what is wrong with this access.
  std::string touch(const Moment &moment, uintptr_t address, uint32_t bytes,
                    bool write);

private:
  struct Touch {
    bool any = false;
    Moment moment;
  };
  /// Of readers the last two that differ: of all who read, one of them at least
  /// is not the one that writes.
  struct Cell {
    Touch write, read, otherRead;
  };
  struct Watched {
    Buffer buffer;
    std::vector<Cell> cells;
  };
  std::string conflict(Cell &cell, const Moment &moment, bool write);

  std::vector<Watched> buffers;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_ACCESSES_H
