//===- SharedOperation.h - an operation in parts --------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_SHAREDOPERATION_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_SHAREDOPERATION_H

#include "runtime/device/Operation.h"
#include "runtime/device/host/WorkerPool.h"

namespace zerograph {

/// Memory that a step touches.
struct Touch {
  const std::byte *begin = nullptr, *end = nullptr;
  bool writes = false;
};

/// An operation that the threads of `pool` share. Its parts may run at once and
/// in any order, also beside those of other steps.
class SharedOperation : public Operation {
public:
  SharedOperation(WorkerPool &pool, uint32_t parts)
      : pool(pool), part_count(parts) {}

  uint32_t parts() const { return part_count; }
  virtual void runPart(uint32_t part) noexcept = 0;
  /// Returns the first error of the parts, when all have run.
  virtual absl::Status result() { return absl::OkStatus(); }

  absl::Status issue(const Issue &) final {
    pool.run(part_count, [this](uint32_t part) { runPart(part); });
    return result();
  }

private:
  WorkerPool &pool;
  uint32_t part_count;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_SHAREDOPERATION_H
