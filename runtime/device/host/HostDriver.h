//===- HostDriver.h - this machine's processor ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTDRIVER_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTDRIVER_H

#include "runtime/device/Driver.h"

namespace zerograph {

/// Plans of any target are loaded and bound: `openDriver` checks it.
std::unique_ptr<Driver> makeHostDriver();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTDRIVER_H
