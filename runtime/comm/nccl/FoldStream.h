//===- FoldStream.h - adds chunks up beside their exchange ----------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_NCCL_FOLDSTREAM_H
#define ZEROGRAPH_RUNTIME_COMM_NCCL_FOLDSTREAM_H

#include "runtime/comm/cuda/LaunchFold.h"

#include <memory>

namespace zerograph {

/// A stream of a rank, on which folds follow each other while the collective's
/// own stream exchanges what comes next. Staging has slots, taken in turn. What
/// is launched joins a graph that the collective's stream records, once that
/// awaits it. Used by the thread that issues, or records, the rank's programs.
class FoldStream {
public:
  /// The number of slots.
  static constexpr unsigned kSlots = 2;

  static absl::StatusOr<std::unique_ptr<FoldStream>>
  make(std::shared_ptr<CudaContext> gpu);
  ~FoldStream();

  /// Launches the fold of a slot once `stream` has done what it was given.
  absl::Status launch(const CudaModule &module, CUstream stream, unsigned slot,
                      const GpuFold &fold);
  /// Makes `stream` await the last fold of a slot.
  absl::Status await(CUstream stream, unsigned slot);
  /// Makes `stream` await all folds since the last time, if there are any. They
  /// use memory that whoever awaits `stream` may free.
  absl::Status join(CUstream stream);

private:
  explicit FoldStream(std::shared_ptr<CudaContext> gpu) : gpu(std::move(gpu)) {}

  std::shared_ptr<CudaContext> gpu;
  CUstream own = nullptr;
  CUevent last = nullptr; // of the folds that no stream has joined
  /// Tell when a slot's exchange, and its fold, are done.
  CUevent exchanged[kSlots] = {}, folded[kSlots] = {};
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_NCCL_FOLDSTREAM_H
