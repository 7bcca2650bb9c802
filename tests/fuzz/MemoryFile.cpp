//===- MemoryFile.cpp - bytes under a path --------------------------------===//

#include "tests/fuzz/MemoryFile.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace zerograph::fuzz {

MemoryFile::MemoryFile(const uint8_t *data, size_t size)
    : descriptor(memfd_create("fuzz", MFD_CLOEXEC)) {
  for (size_t at = 0; descriptor >= 0 && at < size;) {
    ssize_t count = write(descriptor, data + at, size - at);
    if (count <= 0) {
      close(descriptor);
      descriptor = -1;
      break;
    }
    at += count;
  }
  if (descriptor < 0) {
    std::perror("no file in memory");
    std::exit(1); // of the machine, not of the code under test
  }
  name = "/proc/self/fd/" + std::to_string(descriptor);
}

MemoryFile::~MemoryFile() { close(descriptor); }

} // namespace zerograph::fuzz
