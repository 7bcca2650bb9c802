//===- CudaWatch.h - how far streams have come ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAWATCH_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAWATCH_H

#include "runtime/device/Operation.h"
#include "runtime/device/cuda/CudaContext.h"

#include <chrono>
#include <vector>

namespace zerograph {

/// Shows how far a stream has come: an event that it records once the steps
/// `first` to `last` of a program, all that it was given since the mark before,
/// are done.
struct CudaMark {
  CUevent event = nullptr;
  uint32_t first = 0, last = 0;
  /// The operations of the steps, which may know of errors themselves.
  std::vector<Operation *> operations;
  /// Counts what the stream was given for them: operations and graphs.
  uint64_t given = 1;
};

/// The step that is not done, and why.
struct CudaUndone {
  absl::Status status;
  uint32_t first = 0, last = 0; // steps of which one is to blame
};

/// Looks after the streams of one program.
class CudaWatch {
public:
  using Clock = std::chrono::steady_clock;

  explicit CudaWatch(const CudaApi &api) : api(api) {}

  /// The next mark of a stream. The operations outlive the watch.
  void add(CUstream stream, CudaMark mark);

  /// A run begins, in which no mark is recorded yet.
  void begin();
  /// The stream has recorded its next mark.
  void recorded(CUstream stream);

  /// Waits, while streams were given more than `most` up to the marks that they
  /// recorded and did not pass, until marks are passed, of each stream in its
  /// order. What fails or passes nothing for `deadline` ends the wait. The
  /// driver says that something has failed and not what, which the marks that
  /// were passed until then narrow down. The thread has entered the context.
  CudaUndone await(Clock::duration deadline, uint64_t most = 0);

private:
  struct Marks {
    CUstream stream;
    std::vector<CudaMark> marks;
    size_t recorded = 0, passed = 0; // of this run
    const CudaMark *due() const {
      return passed < recorded ? &marks[passed] : nullptr;
    }
  };
  const CudaMark *firstDue() const;
  absl::Status look(bool &moved);

  const CudaApi &api;
  std::vector<Marks> streams;
  uint64_t ahead = 0; // what was given up to marks that are due
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAWATCH_H
