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

  /// Bytes full of NaNs, and where the GPU has them. `pinned`: the host may
  /// touch them too.
  absl::StatusOr<uint64_t> allocate(uint64_t bytes, bool pinned);
  /// False where no allocation begins there.
  bool free(uint64_t address);

  /// The allocation that an address lies in.
  struct Allocation {
    uint64_t begin = 0, bytes = 0;
    char *alias = nullptr;
    uint64_t mapped = 0;
  };
  const Allocation *find(uint64_t address) const;
  size_t count() const { return allocations.size(); }

private:
  std::map<uint64_t, Allocation> allocations; // by where they begin
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_MEMORY_H
