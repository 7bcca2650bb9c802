//===- FoldStream.cpp - adds chunks up beside their exchange --------------===//

#include "runtime/comm/nccl/FoldStream.h"

#include <utility>

using namespace zerograph;

absl::StatusOr<std::unique_ptr<FoldStream>>
FoldStream::make(std::shared_ptr<CudaContext> gpu) {
  std::unique_ptr<FoldStream> made(new FoldStream(std::move(gpu)));
  ZG_RETURN_IF_ERROR(made->gpu->enter());
  ZG_CUDA(made->gpu->api, cuStreamCreateWithPriority, &made->own,
          CU_STREAM_NON_BLOCKING, kUrgent);
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    for (CUevent *event : {&made->exchanged[slot], &made->folded[slot]}) {
      ZG_CUDA(made->gpu->api, cuEventCreate, event, CU_EVENT_DISABLE_TIMING);
    }
  }
  return made;
}

FoldStream::~FoldStream() {
  if (!own || !gpu->enter().ok()) {
    return;
  }
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    for (CUevent event : {exchanged[slot], folded[slot]}) {
      if (event) {
        gpu->api.cuEventDestroy(event);
      }
    }
  }
  gpu->api.cuStreamDestroy(own);
}

absl::Status FoldStream::launch(const CudaModule &module, CUstream stream,
                                unsigned slot, const GpuFold &fold) {
  ZG_CUDA(gpu->api, cuEventRecord, exchanged[slot], stream);
  ZG_CUDA(gpu->api, cuStreamWaitEvent, own, exchanged[slot], 0);
  // From here on it belongs to what `stream` records, too.
  absl::Status status = launchFold(module, own, fold);
  ZG_CUDA(gpu->api, cuEventRecord, folded[slot], own);
  last = folded[slot];
  return status;
}

absl::Status FoldStream::await(CUstream stream, unsigned slot) {
  ZG_CUDA(gpu->api, cuStreamWaitEvent, stream, folded[slot], 0);
  return absl::OkStatus();
}

absl::Status FoldStream::join(CUstream stream) {
  if (CUevent event = std::exchange(last, nullptr)) {
    ZG_CUDA(gpu->api, cuStreamWaitEvent, stream, event, 0);
  }
  return absl::OkStatus();
}
