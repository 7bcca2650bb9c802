//===- CudaProgram.h - a program issued to queues -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaContext.h"

#include <functional>

namespace zerograph {

/// One list, issued from front to back by whoever starts it. A step that others
/// await records an event; as they come later in the list, it is always
/// recorded before it is awaited.
class CudaProgram final : public BoundProgram {
public:
  using Failed = std::function<void(const absl::Status &, uint32_t step)>;

  CudaProgram(std::shared_ptr<CudaContext> context, Failed failed)
      : context(std::move(context)), failed(std::move(failed)) {}
  ~CudaProgram() override;

  /// The next step of the list; `waits` are earlier places in it.
  absl::Status add(CUstream stream, uint32_t number,
                   std::unique_ptr<Operation> operation,
                   const std::vector<uint32_t> &waits);

  void prepare() override {}
  void start(unsigned slot) override;
  absl::Status finish(uint32_t &failed) override;
  void cancel() override {}
  void recordTimes() override { timed = true; }
  std::vector<StepTime> times() const override { return step_times; }

private:
  struct Entry {
    CUstream stream = nullptr;
    uint32_t number = 0;
    std::unique_ptr<Operation> operation;
    /// Events of earlier steps of other streams.
    std::vector<CUevent> waits;
    /// Null where nobody awaits it.
    CUevent done = nullptr;
    /// Where times are noted.
    CUevent begun = nullptr, ended = nullptr;
  };
  absl::Status makeEvent(CUevent &event, unsigned flags);
  absl::Status issue(const Entry &entry, unsigned slot);
  absl::Status makeTimers();
  absl::Status readTimes();

  std::shared_ptr<CudaContext> context;
  Failed failed;
  std::vector<Entry> entries;
  std::vector<CUstream> streams; // that have entries
  std::vector<CUevent> events;   // all of them
  bool timed = false;
  /// The steady clock when the run began, in nanoseconds, and the GPU's.
  int64_t began = 0;
  CUevent origin = nullptr;
  std::vector<StepTime> step_times;
  absl::Status result;
  uint32_t failed_step = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H
