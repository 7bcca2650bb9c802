//===- DeviceCalls.h - the driver's calls about devices and contexts ------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_DEVICECALLS_H
#define ZEROGRAPH_TESTS_EMULATOR_DEVICECALLS_H

#include "tests/emulator/Calls.h"

namespace zerograph::emulator {

/// Each has the parameters of the driver's function of that name.
struct DeviceCalls : Calls {
  static int init(unsigned) { return 0; }
  static int errorName(int, const char **name) {
    *name = "EMULATED";
    return 0;
  }
  static int errorString(int, const char **text) {
    *text = gpu->wrong.empty() ? "made to fail" : gpu->wrong.c_str();
    return 0;
  }
  static int driverVersion(int *version) {
    *version = 12000;
    return 0;
  }
  static int deviceCount(int *count) {
    *count = int(gpu->devices);
    return 0;
  }
  static int device(int *device, int number) {
    *device = number;
    return needDevice(number);
  }
  static int deviceName(char *name, int room, int) {
    std::strncpy(name, "Emulator", size_t(room));
    return 0;
  }
  static int deviceId(CUuuid *id, int device) {
    *id = {};
    std::memcpy(id->bytes, &gpu->identity, sizeof(gpu->identity));
    std::memcpy(id->bytes + sizeof(gpu->identity), &device, sizeof(device));
    return needDevice(device);
  }
  static int deviceAttribute(int *value, int attribute, int) {
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = kCapability;
      return 0;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      return 0;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
      *value = gpu->reports_fabric;
      return gpu->reports_fabric ? 0 : kError; // as a driver before 12.4
    default:
      *value = 0;
      return 0;
    }
  }
  // A context is its GPU's number, from 1.
  static int retain(CUcontext *context, int device) {
    Lock lock(gpu->mutex);
    ++gpu->contexts;
    *context = reinterpret_cast<CUcontext>(uint64_t(device) + 1);
    return needDevice(device);
  }
  static int release(int) {
    Lock lock(gpu->mutex);
    --gpu->contexts;
    return 0;
  }
  static int setCurrent(CUcontext context) {
    current = context ? gpu : nullptr;
    current_device =
        context ? unsigned(reinterpret_cast<uint64_t>(context) - 1) : 0;
    return 0;
  }
  static int memoryInfo(size_t *free, size_t *total) {
    Lock lock(gpu->mutex);
    *total = gpu->memory_bytes;
    *free = *total - gpu->library_bytes[current_device];
    for (const auto &[address, of] : gpu->mapped) {
      const Memory::Allocation *found = gpu->memory.find(address);
      *free -= found && of.device == current_device ? found->bytes : 0;
    }
    return needContext();
  }
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_DEVICECALLS_H
