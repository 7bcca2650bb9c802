//===- Operation.h - what a step does, with everything bound --------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_OPERATION_H
#define ZEROGRAPH_RUNTIME_DEVICE_OPERATION_H

#include "runtime/base/Status.h"

namespace zerograph {

/// The device's own handle of a stream (a CUstream); null where the stream is
/// the thread that issues.
struct StreamHandle {
  void *native = nullptr;
};

/// A step with its addresses.
class Operation {
public:
  virtual ~Operation() = default;
  /// Does the work, or enqueues it on `stream`. Allocates nothing.
  virtual absl::Status issue(StreamHandle stream) = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_OPERATION_H
