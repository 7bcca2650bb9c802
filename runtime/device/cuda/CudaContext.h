//===- CudaContext.h - a GPU, opened --------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H

#include "runtime/device/cuda/CudaApi.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace zerograph {

/// Priorities of streams. One that waits is more urgent than one that computes:
/// a collective that begins late delays everybody.
inline constexpr int kUrgent = -1, kUsual = 0;

/// One GPU's primary context, which a process shares.
class CudaContext {
public:
  static absl::StatusOr<std::shared_ptr<CudaContext>> open(const CudaApi &api,
                                                           int device);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  /// Makes it the calling thread's: before any call that needs one.
  absl::Status enter() const;
  /// From now on nobody can enter it. For a GPU that does not come back: what
  /// is on it ends with the process, since to free it would wait for ever.
  void abandon() { abandoned = any_abandoned = true; }
  /// Returns whether one of the process was abandoned.
  static bool anyAbandoned() { return any_abandoned; }

  /// "sm_90".
  const std::string &architecture() const { return arch; }
  int multiprocessors() const { return sms; }

  const CudaApi &api;
  const CUdevice device;
  /// Held by a thread while it records a graph, and by who enqueues through a
  /// library's handle that threads share: such a handle is of one stream at a
  /// time, and the streams that it has within are of one graph until its end.
  std::recursive_mutex recording;

private:
  CudaContext(const CudaApi &api, CUdevice device) : api(api), device(device) {}

  static inline std::atomic<bool> any_abandoned = false;

  CUcontext handle = nullptr;
  std::atomic<bool> abandoned = false;
  std::string arch;
  int sms = 0;
};

/// 90 for a GPU of compute capability 9.0.
absl::StatusOr<int> capabilityOf(const CudaApi &api, CUdevice device);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
