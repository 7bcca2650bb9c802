//===- HostMemory.cpp - how much memory there is --------------------------===//

#include "runtime/device/host/HostMemory.h"

#include "runtime/base/Text.h"

#include <fstream>
#include <limits>
#include <string>

using namespace zerograph;

HostMemory zerograph::hostMemory() {
  HostMemory memory;
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    uint64_t kib = 0;
    file >> kib;
    if (name == "MemTotal:") {
      memory.total = kib << 10;
    } else if (name == "MemAvailable:") {
      memory.available = kib << 10;
    } else if (name == "SwapFree:") {
      memory.swap = kib << 10;
    }
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  std::ifstream limit("/sys/fs/cgroup/memory.max");
  if (uint64_t bytes = 0; limit >> bytes) {
    memory.limit = bytes;
  }
  return memory;
}

absl::Status zerograph::checkMemory(uint64_t bytes, const HostMemory &memory) {
  if (!memory.available) {
    return absl::OkStatus();
  }
  uint64_t there = *memory.available + memory.swap.value_or(0);
  there = std::min(there, memory.limit.value_or(there));
  if (bytes <= there) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "the ranks here need ", grouped(bytes), " bytes, and ", grouped(there),
      " are available: use a smaller micro-batch or a higher ZeRO stage (see "
      "zerograph inspect)"));
}
