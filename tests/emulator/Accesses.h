//===- Accesses.h - what the threads of a launch read and write -----------===//
//
// Every element of the launch's buffers remembers who last wrote and who last
// read it. Two threads that touch an element, one of them writing, and that
// nothing has put in order are an error, whatever order they had this time.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_ACCESSES_H
#define ZEROGRAPH_TESTS_EMULATOR_ACCESSES_H

#include "tests/emulator/BlockOrder.h"
#include "tests/emulator/Conflicts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph::emulator {

inline constexpr uint32_t kWarp = 32;

/// How a thread touches memory. A constant is what the launch found there: it
/// may be read at any time (`ld.global.nc`), so nobody may write it.
enum class Access { kRead, kWrite, kReadConstant };

/// The elements that launches read and wrote, and the bytes of all their loads
/// and stores.
struct Touched {
  std::vector<bool> read, written;
  uint64_t loaded = 0, stored = 0;

  void note(uint64_t first, uint64_t elements, uint64_t bytes, bool write);
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
  /// The lines where what is touched is noted; may be null.
  Lines *lines = nullptr;
  /// Touched elements are noted here, if the element is not 0; may be null.
  Touched *touched = nullptr;
  /// True if only atomic operations may touch it; any order of these is right.
  bool counts = false;
};

class Accesses {
public:
  void add(const Buffer &buffer);
  size_t count() const { return buffers.size(); }
  /// Nobody has touched the buffer that begins here.
  void forget(const void *begin);

  /// The beginning of an access in one of the buffers, as they were added.
  struct Place {
    size_t buffer = 0;
    uint64_t offset = 0;
  };
  /// Returns nothing, or what is wrong with this access, and sets its place.
  std::string touch(const Moment &moment, uintptr_t address, uint32_t bytes,
                    Access access, Place &place);
  /// Notes a fence, and an atomic operation on 4 bytes. Returns nothing, or
  /// what is wrong.
  void fence(const Moment &moment) { order.fence(moment); }
  std::string change(const Moment &moment, uintptr_t address);

private:
  struct Touch {
    bool any = false;
    Moment moment;
  };
  /// The last reader, the last of another thread in its warp, of another warp
  /// in its block, and of another block: whoever writes, if a reader is
  /// unordered with it, one of these is. (Of several other blocks only the last
  /// is looked at.)
  struct Cell {
    Touch write, read, otherThread, otherWarp, otherBlock;
    bool constant = false; // somebody has read it as one
  };
  struct Watched {
    Buffer buffer;
    std::vector<Cell> cells;
  };
  static void noteRead(Cell &cell, const Touch &now);
  bool isOrdered(const Moment &before, const Moment &now) const;
  std::string conflict(Cell &cell, const Moment &moment, Access access);

  std::vector<Watched> buffers;
  BlockOrder order;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_ACCESSES_H
