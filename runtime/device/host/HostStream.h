//===- HostStream.h - a stream that is a thread ---------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTSTREAM_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTSTREAM_H

#include "runtime/device/host/Timelines.h"

namespace zerograph {

/// A stream at place `index` of `timelines`, whose operations are shared by
/// `workers` threads.
std::unique_ptr<Stream> makeHostStream(Timelines &timelines, unsigned index,
                                       const std::string &name,
                                       unsigned workers);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTSTREAM_H
