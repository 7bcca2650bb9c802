//===- HostProgram.h - a program split among threads ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTPROGRAM_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTPROGRAM_H

#include "runtime/device/host/HostStream.h"

namespace zerograph {

/// A program whose list is split by streams; in each, entries keep the list's
/// order. A step that has fewer parts than its stream has threads would leave
/// some of them idle: the next one runs beside it, where it awaits nothing and
/// neither touches what the other writes.
class HostProgram final : public BoundProgram {
public:
  explicit HostProgram(Timelines &timelines) : timelines(timelines) {}

  /// The next step of the list, which is the entry's only one, on `stream` at
  /// place `index` of the timelines. `touches`: all memory that it reads and
  /// writes. `waits`: earlier places in the list.
  void add(HostStream &stream, unsigned index, StreamEntry entry,
           std::vector<Touch> touches, const std::vector<uint32_t> &waits);

  void prepare() override { timelines.reset(); }
  void start(unsigned slot) override;
  absl::Status finish(uint32_t &failed) override;
  void cancel() override { timelines.cancel(); }
  void recordTimes() override { step_times.resize(done.size()); }
  std::vector<StepTime> times() const override { return step_times; }
  void afterSteps(StepCallback callback) override {
    after = std::move(callback);
  }

private:
  struct Part {
    HostStream *stream = nullptr;
    unsigned index = 0;
    StreamProgram entries;
    std::vector<Touch> touches; // of the last entry
  };

  Timelines &timelines;
  std::vector<Part> parts;          // of the streams that have entries
  std::vector<StreamPosition> done; // when each step of the list is
  std::vector<StepTime> step_times;
  StepCallback after;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTPROGRAM_H
