//===- HostDevice.h - the CPU as a device ---------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTDEVICE_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTDEVICE_H

#include "runtime/device/Device.h"

namespace zerograph {

/// A device whose streams are threads of this process. Destroy its streams
/// before it.
std::unique_ptr<Device> makeHostDevice();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTDEVICE_H
