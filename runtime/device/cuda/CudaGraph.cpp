//===- CudaGraph.cpp - what a stream was given, recorded ------------------===//

#include "runtime/device/cuda/CudaGraph.h"

using namespace zerograph;

absl::StatusOr<std::unique_ptr<CudaGraph>>
CudaGraph::record(std::shared_ptr<CudaContext> context, CUstream stream,
                  const std::function<absl::Status()> &enqueue) {
  const CudaApi &api = context->api;
  std::unique_ptr<CudaGraph> graph(new CudaGraph(std::move(context)));
  std::lock_guard<std::recursive_mutex> lock(graph->context->recording);
  // Other threads of the process allocate and load while this one records.
  ZG_CUDA(api, cuStreamBeginCapture, stream,
          CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  absl::Status status = enqueue();
  // Also after an error: a stream that records does nothing else.
  CUgraph recorded = nullptr;
  status.Update(cudaStatus(api, api.cuStreamEndCapture(stream, &recorded),
                           "cuStreamEndCapture"));
  if (status.ok()) {
    status =
        cudaStatus(api, api.cuGraphInstantiate(&graph->executable, recorded, 0),
                   "cuGraphInstantiate");
  }
  if (recorded) {
    api.cuGraphDestroy(recorded);
  }
  if (status.ok()) {
    // Else the first launch would do it.
    status = cudaStatus(api, api.cuGraphUpload(graph->executable, stream),
                        "cuGraphUpload");
  }
  if (!status.ok()) {
    return status;
  }
  return graph;
}

CudaGraph::~CudaGraph() {
  if (executable && context->enter().ok()) {
    context->api.cuGraphExecDestroy(executable);
  }
}

absl::Status CudaGraph::launch(CUstream stream) const {
  ZG_CUDA(context->api, cuGraphLaunch, executable, stream);
  return absl::OkStatus();
}
