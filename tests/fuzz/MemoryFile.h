//===- MemoryFile.h - bytes under a path ----------------------------------===//

#ifndef ZEROGRAPH_TESTS_FUZZ_MEMORYFILE_H
#define ZEROGRAPH_TESTS_FUZZ_MEMORYFILE_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace zerograph::fuzz {

/// A file of `size` bytes in memory, for readers that take a path.
class MemoryFile {
public:
  MemoryFile(const uint8_t *data, size_t size);
  ~MemoryFile();
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  const std::string &path() const { return name; }

private:
  int descriptor;
  std::string name;
};

} // namespace zerograph::fuzz

#endif // ZEROGRAPH_TESTS_FUZZ_MEMORYFILE_H
