//===- QueueOrder.h - a rank's collectives on queues, one after the other -===//

#ifndef ZEROGRAPH_RUNTIME_COMM_CUDA_QUEUEORDER_H
#define ZEROGRAPH_RUNTIME_COMM_CUDA_QUEUEORDER_H

#include "runtime/device/cuda/CudaApi.h"

#include <string>

namespace zerograph {

/// Makes each collective's stream await the collective before it, whatever
/// stream that was on. Used by the thread that issues, or records, a rank's
/// programs.
class QueueOrder {
public:
  /// Begins the collective of this number on `stream`; an error where it is not
  /// its turn. With number 0 a program begins. `text` describes it, for the
  /// message.
  absl::Status begin(const CudaApi &api, CUstream stream, uint32_t sequence,
                     const std::string &text) {
    if (sequence == 0) {
      next = 0;
      last = nullptr;
    }
    if (sequence != next) {
      return absl::InternalError(absl::StrCat(
          text, " is issued where the one of sequence ", next, " is due"));
    }
    ++next;
    if (last) {
      ZG_CUDA(api, cuStreamWaitEvent, stream, last, 0);
    }
    return absl::OkStatus();
  }

  /// Ends the collective: all of it is on `stream`. `complete` tells when it is
  /// done.
  absl::Status end(const CudaApi &api, CUstream stream, CUevent complete) {
    ZG_CUDA(api, cuEventRecord, complete, stream);
    last = complete;
    return absl::OkStatus();
  }

private:
  uint32_t next = 0;      // of the program that is issued
  CUevent last = nullptr; // when the collective before is done
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_CUDA_QUEUEORDER_H
