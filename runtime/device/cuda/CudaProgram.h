//===- CudaProgram.h - a program issued to queues -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H

#include "runtime/device/Device.h"
#include "runtime/device/Driver.h"
#include "runtime/device/cuda/CudaEvents.h"
#include "runtime/device/cuda/CudaGraph.h"
#include "runtime/device/cuda/CudaWatch.h"

#include <functional>

namespace zerograph {

/// One list, issued from front to back by whoever starts it. A step that others
/// await records an event; as they come later in the list, it is always
/// recorded before it is awaited. Steps of another device are awaited by what
/// they count, which streams look at themselves. Runs of steps that no other
/// stream interrupts, or the whole program, are recorded as graphs when it is
/// bound.
class CudaProgram final : public BoundProgram {
public:
  using Failed = std::function<void(const absl::Status &, uint32_t step)>;

  CudaProgram(std::shared_ptr<CudaContext> context,
              const DeviceOptions &options, Failed failed)
      : context(context), api(context->api), options(options),
        failed(std::move(failed)), events(context), watch(api), rest(api),
        each(api) {}

  /// Steps of another device that are done: a number in memory that both see.
  struct Count {
    CUdeviceptr counter = 0;
    uint32_t value = 0;
  };

  /// The next step of the list; `waits` are earlier places in it. `stream`:
  /// urgent where others wait for it. `awaits`, `publishes`: what it has to do
  /// with the rank's other devices.
  absl::Status add(CUstream stream, uint32_t number,
                   std::unique_ptr<Operation> operation,
                   const std::vector<uint32_t> &waits,
                   std::vector<Count> awaits = {},
                   std::optional<Count> publishes = {});
  /// After the last step.
  absl::Status seal();

  void prepare() override {}
  void start(unsigned slot) override;
  absl::Status finish(uint32_t &failed) override;
  /// Says that what the other device counts will not come: streams that look at
  /// it go on, with a program that has failed.
  void cancel() override;
  void dropRecords() override {
    whole[0].reset();
    whole[1].reset();
  }
  /// Records times of steps that are enqueued one by one: without graphs.
  void recordTimes() override { timed = options.graphs == Graphs::Off; }
  std::vector<StepTime> times() const override { return step_times; }
  void afterSteps(StepCallback callback) override;

private:
  struct Entry {
    CUstream stream = nullptr;
    uint32_t number = 0;
    std::unique_ptr<Operation> operation;
    /// Events of earlier steps of other streams.
    std::vector<CUevent> waits;
    /// Null where nobody awaits it.
    CUevent done = nullptr;
    std::vector<Count> awaits;
    std::optional<Count> publishes;

    bool isOrderedBetweenDevices() const {
      return !awaits.empty() || publishes;
    }
  };
  /// Steps of one stream that are enqueued at once. The first may await other
  /// streams, and the last be awaited.
  struct Segment {
    std::vector<size_t> places;
    std::unique_ptr<CudaGraph> graph; // or null
    CUevent passed = nullptr;         // a mark of the watch, or null
  };
  void cut();
  absl::Status recordSegments();
  absl::Status recordWhole();
  absl::Status addMarks();
  absl::Status await(const Entry &entry) const;
  absl::Status signal(const Entry &entry) const;
  absl::Status issueStep(size_t place, unsigned slot);
  absl::Status passOn(size_t place);
  absl::Status issueSegment(const Segment &segment, unsigned slot);
  absl::Status issueWhole(unsigned slot);
  absl::Status issue(unsigned slot);
  /// Waits until streams are to be given at most `most` more than they did.
  absl::Status catchUp(uint64_t most);
  void settle();

  std::shared_ptr<CudaContext> context;
  const CudaApi &api;
  const DeviceOptions options;
  Failed failed;
  CudaEvents events;
  std::vector<Entry> entries;
  std::vector<CUstream> streams; // that have entries; the first is the origin
  std::vector<Segment> segments;
  /// The graph of each slot, where the whole program is one graph.
  std::unique_ptr<CudaGraph> whole[2];
  /// The events that the other streams await of the origin, and it of them, in
  /// a whole.
  CUevent fork = nullptr;
  std::vector<CUevent> joins; // of streams[i + 1]
  CUevent end = nullptr;
  CudaWatch watch;
  /// The end of each stream, recorded after a failure, when all that it was
  /// given is to end.
  std::vector<CUevent> ends;
  CudaWatch rest;

  bool timed = false;
  std::unique_ptr<CudaTimers> timers;
  std::vector<StepTime> step_times;
  StepCallback after;
  /// Marks of each stream, recorded after a step for `after`.
  CudaWatch each;
  absl::Status result;
  uint32_t failed_step = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAPROGRAM_H
