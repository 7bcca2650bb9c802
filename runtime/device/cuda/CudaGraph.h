//===- CudaGraph.h - what a stream was given, recorded --------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAGRAPH_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAGRAPH_H

#include "runtime/device/cuda/CudaContext.h"

#include <functional>

namespace zerograph {

/// Recorded once, enqueued by one call as often as wanted.
class CudaGraph {
public:
  /// Records what `enqueue` puts on `stream`, and on the streams that it makes
  /// await events of it and joins again; nothing of it runs now. The thread has
  /// entered the context; threads with it record one after the other.
  static absl::StatusOr<std::unique_ptr<CudaGraph>>
  record(std::shared_ptr<CudaContext> context, CUstream stream,
         const std::function<absl::Status()> &enqueue);
  /// A launch goes on.
  ~CudaGraph();
  CudaGraph(const CudaGraph &) = delete;
  CudaGraph &operator=(const CudaGraph &) = delete;

  absl::Status launch(CUstream stream) const;

private:
  explicit CudaGraph(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}

  std::shared_ptr<CudaContext> context;
  CUgraphExec executable = nullptr;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAGRAPH_H
