//===- RankRun.h - one rank's part of a training run ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
#define ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H

#include "runtime/exec/Executor.h"
#include "runtime/exec/Session.h"

namespace zerograph {

/// One rank from its arenas to its saved weights. The caller keeps it until
/// all ranks have returned from `run`: they read each other's memory.
class RankRun {
public:
  RankRun(Session &session, std::unique_ptr<Communicator> communicator)
      : session(session), communicator(std::move(communicator)) {}

  /// The whole run. After an error all other ranks end too.
  absl::Status run();

  const RankResult &result() const { return rank_result; }
  StepTimes times() const { return executor->times(); }

private:
  absl::Status prepare();
  absl::Status trainSteps();
  absl::Status trainStep(uint64_t step, bool stop);
  absl::Status readInputs(uint64_t step, uint64_t micro_batch);
  absl::Status writeFile(SafetensorsWriter *writer, const std::string &what,
                         const WeightFileOptions &options);
  void recordStep(uint64_t step, double loss, double milliseconds);
  float *scalar(uint32_t slice) const;
  unsigned rank() const { return communicator->rank(); }

  Session &session;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Executor> executor;
  RankResult rank_result;
  bool said_not_finite = false;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RANKRUN_H
