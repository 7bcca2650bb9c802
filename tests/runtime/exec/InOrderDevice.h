//===- InOrderDevice.h - a device that issues from one thread -------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_EXEC_INORDERDEVICE_H
#define ZEROGRAPH_TESTS_RUNTIME_EXEC_INORDERDEVICE_H

#include "runtime/device/Driver.h"

namespace zerograph::testing {

/// Makes a driver that does what a device with queues must be able to do with a
/// program: it issues the list from one thread, from front to back, and every
/// event that a step awaits has been recorded by then. Each operation is done
/// when it is issued.
std::unique_ptr<Driver> makeInOrderDriver();

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_EXEC_INORDERDEVICE_H
