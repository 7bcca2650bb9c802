//===- ShadowDevice.h - a device that shows what is wrong with a plan -----===//

#ifndef ZEROGRAPH_TESTS_SHADOW_SHADOWDEVICE_H
#define ZEROGRAPH_TESTS_SHADOW_SHADOWDEVICE_H

#include "runtime/device/Device.h"

namespace zerograph::testing {

/// The host device with a ShadowMemory, whose findings are errors of the step,
/// and with streams that pause at random before and within steps, by the seed.
/// For an executor of `plan`, which outlives it.
std::unique_ptr<Device> makeShadowDevice(const plan::Plan &plan, uint32_t rank,
                                         uint64_t seed);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SHADOW_SHADOWDEVICE_H
