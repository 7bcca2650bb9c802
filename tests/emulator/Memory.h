//===- Memory.h - memory of a GPU that the host cannot touch --------------===//
//
// A GPU's memory has an address that the process may not touch, and another, at
// which the emulator reaches the same bytes. So a dereferenced device pointer
// ends the test at the place where that happens.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_MEMORY_H
#define ZEROGRAPH_TESTS_EMULATOR_MEMORY_H

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>

namespace zerograph::emulator {

class Memory {
public:
  Memory() = default;
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// Bytes full of NaNs that the host may touch too, and where they are.
  absl::StatusOr<uint64_t> allocatePinned(uint64_t bytes);
  /// False where none begins there.
  bool freePinned(uint64_t address);

  /// Addresses with nothing behind them.
  absl::StatusOr<uint64_t> reserve(uint64_t bytes);
  /// False where they were not reserved, or something is still mapped there.
  bool unreserve(uint64_t address, uint64_t bytes);
  /// Bytes full of NaNs, at no address yet; a handle.
  absl::StatusOr<uint64_t> create(uint64_t bytes);
  /// They go when nothing is mapped to them.
  bool release(uint64_t handle);
  /// All of a handle's bytes, at all of what was reserved.
  bool map(uint64_t address, uint64_t bytes, uint64_t handle);
  bool unmap(uint64_t address, uint64_t bytes);
  /// From now on the GPU may touch them.
  bool open(uint64_t address, uint64_t bytes);

  /// The allocation that an address lies in.
  struct Allocation {
    uint64_t begin = 0, bytes = 0;
    char *alias = nullptr;
    bool open = false, pinned = false;
  };
  /// Null where the GPU may touch nothing.
  const Allocation *find(uint64_t address) const;
  size_t count() const {
    return allocations.size() + reservations.size() + handles.size();
  }

private:
  Allocation *mapping(uint64_t address, uint64_t bytes);
  void drop(const Allocation &allocation);

  std::map<uint64_t, Allocation> allocations; // by where they begin
  std::map<uint64_t, uint64_t> reservations;  // their bytes
  struct Handle {
    int file;
    uint64_t bytes;
  };
  std::map<uint64_t, Handle> handles;
  uint64_t last_handle = 0;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_MEMORY_H
