//===- Memory.cpp - memory of a GPU that the host cannot touch ------------===//

#include "tests/emulator/Memory.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace zerograph::emulator;

static constexpr uint64_t kPage = 4096;

static uint64_t pages(uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

static absl::Status noMemory() {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for the emulator: ", std::strerror(errno)));
}

Memory::~Memory() {
  for (const auto &[begin, allocation] : allocations) {
    drop(allocation);
  }
  for (const auto &[begin, bytes] : reservations) {
    munmap(reinterpret_cast<void *>(begin), pages(bytes));
  }
  for (const auto &[number, handle] : handles) {
    close(handle.file);
  }
}

void Memory::drop(const Allocation &allocation) {
  munmap(allocation.alias, pages(allocation.bytes));
}

absl::StatusOr<uint64_t> Memory::allocatePinned(uint64_t bytes) {
  void *alias = mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (alias == MAP_FAILED) {
    return noMemory();
  }
  std::memset(alias, 0xff, bytes);
  uint64_t begin = reinterpret_cast<uint64_t>(alias);
  allocations[begin] = {begin, bytes, static_cast<char *>(alias),
                        /*open=*/true, /*pinned=*/true};
  return begin;
}

bool Memory::freePinned(uint64_t address) {
  auto found = allocations.find(address);
  if (found == allocations.end() || !found->second.pinned) {
    return false;
  }
  drop(found->second);
  allocations.erase(found);
  return true;
}

absl::StatusOr<uint64_t> Memory::reserve(uint64_t bytes) {
  void *begin = mmap(nullptr, pages(bytes), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    return noMemory();
  }
  reservations[reinterpret_cast<uint64_t>(begin)] = bytes;
  return reinterpret_cast<uint64_t>(begin);
}

bool Memory::unreserve(uint64_t address, uint64_t bytes) {
  auto found = reservations.find(address);
  if (found == reservations.end() || found->second != bytes ||
      mapping(address, bytes)) {
    return false;
  }
  munmap(reinterpret_cast<void *>(address), pages(bytes));
  reservations.erase(found);
  return true;
}

absl::StatusOr<uint64_t> Memory::create(uint64_t bytes) {
  int file = memfd_create("gpu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(pages(bytes))) != 0) {
    absl::Status status = noMemory();
    close(file);
    return status;
  }
  handles[++last_handle] = {file, bytes};
  return last_handle;
}

bool Memory::release(uint64_t handle) {
  auto found = handles.find(handle);
  if (found == handles.end()) {
    return false;
  }
  close(found->second.file);
  handles.erase(found);
  return true;
}

bool Memory::map(uint64_t address, uint64_t bytes, uint64_t handle) {
  auto memory = handles.find(handle);
  auto place = reservations.find(address);
  if (memory == handles.end() || memory->second.bytes != bytes ||
      place == reservations.end() || place->second != bytes ||
      mapping(address, bytes)) {
    return false;
  }
  void *alias = mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                     memory->second.file, 0);
  if (alias == MAP_FAILED) {
    return false;
  }
  std::memset(alias, 0xff, bytes);
  allocations[address] = {address, bytes, static_cast<char *>(alias)};
  return true;
}

Memory::Allocation *Memory::mapping(uint64_t address, uint64_t bytes) {
  auto found = allocations.find(address);
  bool whole = found != allocations.end() && found->second.bytes == bytes &&
               !found->second.pinned;
  return whole ? &found->second : nullptr;
}

bool Memory::unmap(uint64_t address, uint64_t bytes) {
  Allocation *mapped = mapping(address, bytes);
  if (!mapped) {
    return false;
  }
  drop(*mapped);
  allocations.erase(address);
  return true;
}

bool Memory::open(uint64_t address, uint64_t bytes) {
  Allocation *mapped = mapping(address, bytes);
  if (mapped) {
    mapped->open = true;
  }
  return mapped;
}

const Memory::Allocation *Memory::find(uint64_t address) const {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) {
    return nullptr;
  }
  const Allocation &allocation = std::prev(after)->second;
  bool inside = address - allocation.begin < allocation.bytes;
  return inside && allocation.open ? &allocation : nullptr;
}
