//===- Memory.cpp - memory of a GPU that the host cannot touch ------------===//

#include "tests/emulator/Memory.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace zerograph::emulator;

static constexpr uint64_t kPage = 4096;

Memory::~Memory() {
  while (!allocations.empty()) {
    free(allocations.begin()->first);
  }
}

absl::StatusOr<uint64_t> Memory::allocate(uint64_t bytes, bool pinned) {
  uint64_t mapped = (bytes + kPage - 1) / kPage * kPage;
  int file = memfd_create("gpu", MFD_CLOEXEC);
  void *own = MAP_FAILED, *alias = MAP_FAILED;
  if (file >= 0 && ftruncate(file, off_t(mapped)) == 0) {
    int access = pinned ? PROT_READ | PROT_WRITE : PROT_NONE;
    own = mmap(nullptr, mapped, access, MAP_SHARED, file, 0);
    alias = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  int error = errno;
  close(file);
  if (own == MAP_FAILED || alias == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for the emulator: ", std::strerror(error)));
  }
  std::memset(alias, 0xff, mapped);
  Allocation allocation{reinterpret_cast<uint64_t>(own), bytes,
                        static_cast<char *>(alias), mapped};
  allocations[allocation.begin] = allocation;
  return allocation.begin;
}

bool Memory::free(uint64_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end()) {
    return false;
  }
  munmap(reinterpret_cast<void *>(found->second.begin), found->second.mapped);
  munmap(found->second.alias, found->second.mapped);
  allocations.erase(found);
  return true;
}

const Memory::Allocation *Memory::find(uint64_t address) const {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) {
    return nullptr;
  }
  const Allocation &allocation = std::prev(after)->second;
  return address - allocation.begin < allocation.bytes ? &allocation : nullptr;
}
