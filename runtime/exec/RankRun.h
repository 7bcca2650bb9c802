//===- RankRun.h - one rank's part of a training run ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
#define ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Session.h"

namespace zerograph {

/// One rank from its arenas to its saved weights. The caller keeps it until
/// all ranks have returned from `run`: they read each other's memory.
class RankRun {
public:
  /// All outlive it.
  RankRun(Session &session, Collectives &collectives, ControlPlane &control)
      : session(session), collectives(collectives), control(control) {}

  /// The whole run. After an error all other ranks end too.
  absl::Status run();

  /// Ends all ranks, this one having no thread to run on.
  void abort(const absl::Status &status) {
    collectives.abort(status);
    control.abort(status);
  }

  const RankResult &result() const { return rank_result; }
  StepTimes times() const { return executor->times(); }
  /// When all ranks were ready, by the clock of `times`.
  int64_t ready() const { return ready_at; }

private:
  absl::Status prepare();
  absl::Status trainSteps();
  absl::Status trainStep(uint64_t step, bool stop);
  /// The first sample of this rank's micro-batch, in the global batch.
  uint64_t sampleBase(uint64_t micro_batch) const;
  absl::Status readInputs(uint64_t step, uint64_t micro_batch);
  absl::Status writeFile(const std::string &path, SafetensorsWriter *writer,
                         const std::string &what,
                         const WeightFileOptions &options);
  void recordStep(uint64_t step, double loss, double milliseconds);
  DeviceRange rangeOf(uint32_t slice) const;
  absl::StatusOr<double> lossSum() const;
  absl::StatusOr<bool> someoneStops() const;
  unsigned rank() const { return control.rank(); }

  Session &session;
  Collectives &collectives;
  ControlPlane &control;
  std::unique_ptr<Executor> executor;
  RankResult rank_result;
  std::vector<std::byte> input; // of a micro-batch, on its way to the device
  int64_t ready_at = 0;
  bool said_not_finite = false;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
