//===- MemoryCalls.h - the driver's calls about memory --------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_MEMORYCALLS_H
#define ZEROGRAPH_TESTS_EMULATOR_MEMORYCALLS_H

#include "tests/emulator/Calls.h"

namespace zerograph::emulator {

/// Each has the parameters of the driver's function of that name.
struct MemoryCalls : Calls {
  static int allocateHost(void **memory, size_t bytes, unsigned) {
    Lock lock(gpu->mutex);
    if (needNoRecording() || bytes == 0) {
      return kError;
    }
    return give(gpu->memory.allocatePinned(bytes),
                *reinterpret_cast<CUdeviceptr *>(memory));
  }
  static int freeHost(void *memory) {
    Lock lock(gpu->mutex);
    uint64_t address = reinterpret_cast<uint64_t>(memory);
    gpu->conflicts.forget(address);
    return need(gpu->memory.freePinned(address),
                "memory of the host is freed that was not allocated");
  }

  // Slices of a plan are multiples of these: what lies beyond an arena is then
  // beyond the allocation.
  static int granularity(size_t *bytes, const CUmemAllocationProp *, int) {
    *bytes = 64;
    return 0;
  }
  static int reserve(CUdeviceptr *address, size_t bytes, size_t, CUdeviceptr,
                     unsigned long long) {
    Lock lock(gpu->mutex);
    if (needNoRecording() || bytes == 0) {
      return kError;
    }
    return give(gpu->memory.reserve(bytes), *address);
  }
  static int unreserve(CUdeviceptr address, size_t bytes) {
    Lock lock(gpu->mutex);
    return need(gpu->memory.unreserve(address, bytes),
                "addresses are freed that were not reserved, or that memory is "
                "mapped to");
  }
  static int createMemory(CUmemGenericAllocationHandle *handle, size_t bytes,
                          const CUmemAllocationProp *wanted,
                          unsigned long long) {
    Lock lock(gpu->mutex);
    if (needNoRecording() || bytes == 0 ||
        wanted->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        (wanted->requestedHandleTypes & gpu->refused_handles) != 0) {
      return kError;
    }
    int result = give(gpu->memory.create(bytes), *handle);
    gpu->handles[*handle] = {unsigned(wanted->location.id),
                             wanted->requestedHandleTypes};
    return result ? result : needDevice(wanted->location.id);
  }
  static int releaseMemory(CUmemGenericAllocationHandle handle) {
    Lock lock(gpu->mutex);
    return need(gpu->memory.release(handle), "memory is released twice");
  }
  static int mapMemory(CUdeviceptr address, size_t bytes, size_t,
                       CUmemGenericAllocationHandle handle,
                       unsigned long long) {
    Lock lock(gpu->mutex);
    gpu->mapped[address] = gpu->handles[handle];
    return need(gpu->memory.map(address, bytes, handle),
                "memory is mapped to addresses that are not its own");
  }
  static int unmapMemory(CUdeviceptr address, size_t bytes) {
    Lock lock(gpu->mutex);
    gpu->conflicts.forget(address);
    gpu->mapped.erase(address);
    return need(gpu->memory.unmap(address, bytes),
                "memory is unmapped that was not mapped");
  }
  static int setAccess(CUdeviceptr address, size_t bytes,
                       const CUmemAccessDesc *access, size_t count) {
    Lock lock(gpu->mutex);
    bool wanted =
        count == 1 && access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return need(wanted && gpu->memory.open(address, bytes),
                "access is given to memory that is not mapped");
  }

  static Gpu::Task setTask(const char *name, CUdeviceptr to, std::string value,
                           size_t count) {
    auto set = [=](Gpu::Touched &touched) {
      size_t size = value.size();
      char *target = gpu->reach(to, size * count, true, touched, name);
      for (size_t i = 0; target && i < count; ++i) {
        std::memcpy(target + i * size, value.data(), size);
      }
      return absl::OkStatus();
    };
    return {name, set};
  }

  // Memory that the host gives and does not wait for goes to the default
  // stream, for which no other waits: as with a real driver the call may return
  // before the bytes are there.
  static int toDevice(CUdeviceptr to, const void *from, size_t bytes) {
    Lock lock(gpu->mutex);
    if (needNoRecording()) {
      return kError;
    }
    std::string data(static_cast<const char *>(from), bytes);
    auto copy = [=](Gpu::Touched &touched) {
      char *target = gpu->reach(to, bytes, true, touched, "cuMemcpyHtoD");
      if (target) {
        std::memcpy(target, data.data(), bytes);
      }
      return absl::OkStatus();
    };
    return enqueue(nullptr, {"cuMemcpyHtoD", copy});
  }
  static int pointerAttribute(void *value, int attribute, CUdeviceptr address) {
    Lock lock(gpu->mutex);
    const Memory::Allocation *of = gpu->memory.find(address);
    if (needContext() || !of ||
        attribute != CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES) {
      return gpu->complain("an address without the attribute asked for");
    }
    auto found = gpu->mapped.find(of->begin);
    *static_cast<uint64_t *>(value) =
        found == gpu->mapped.end() ? 0 : uint64_t(found->second.handle_types);
    return 0;
  }
  static int toHost(void *to, CUdeviceptr from, size_t bytes) {
    Lock lock(gpu->mutex);
    if (needNoRecording()) {
      return kError;
    }
    auto copy = [=](Gpu::Touched &touched) {
      char *source = gpu->reach(from, bytes, false, touched, "cuMemcpyDtoH");
      if (source) {
        std::memcpy(to, source, bytes);
      }
      return absl::OkStatus();
    };
    int result = enqueue(nullptr, {"cuMemcpyDtoH", copy});
    return result ? result : gpu->drain(*streamOf(nullptr));
  }
  static int set8(CUdeviceptr to, unsigned char value, size_t bytes) {
    Lock lock(gpu->mutex);
    if (needNoRecording()) {
      return kError;
    }
    return enqueue(
        nullptr, setTask("cuMemsetD8", to, std::string(1, char(value)), bytes));
  }
  static int set32(CUdeviceptr to, unsigned value, size_t words) {
    Lock lock(gpu->mutex);
    if (needNoRecording()) {
      return kError;
    }
    std::string bytes(reinterpret_cast<const char *>(&value), sizeof(value));
    return enqueue(nullptr, setTask("cuMemsetD32", to, bytes, words));
  }
  static int copyLater(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       CUstream stream) {
    Lock lock(gpu->mutex);
    auto copy = [=](Gpu::Touched &touched) {
      char *target = gpu->reach(to, bytes, true, touched, "cuMemcpyAsync");
      char *source = gpu->reach(from, bytes, false, touched, "cuMemcpyAsync");
      if (target && source) {
        std::memcpy(target, source, bytes);
      }
      return absl::OkStatus();
    };
    return enqueue(stream, {"cuMemcpyAsync", copy});
  }
  static int setLater(CUdeviceptr to, unsigned char value, size_t bytes,
                      CUstream stream) {
    Lock lock(gpu->mutex);
    return enqueue(stream, setTask("cuMemsetD8Async", to,
                                   std::string(1, char(value)), bytes));
  }
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_MEMORYCALLS_H
