//===- TrainLog.h - what a run tells while it runs ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_TRAINLOG_H
#define ZEROGRAPH_RUNTIME_EXEC_TRAINLOG_H

#include "runtime/base/Status.h"
#include "runtime/exec/EventFile.h"
#include "runtime/plan/plan.pb.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// The result of an evaluation after a step.
struct EvalRecord {
  double loss = 0; // mean
  uint64_t samples = 0;
  double ms = 0;
  std::vector<NamedNumber> metrics = {}; // means
};

/// One finished step.
struct StepRecord {
  uint64_t step = 0; // from 0
  double loss = 0;
  std::optional<double> gradient_norm; // where the plan computes it
  double learning_rate = 0;
  double step_ms = 0;
  double samples_per_s = 0;
  std::optional<double> loss_scale; // where the plan has one
  bool skipped = false;             // the update
  std::optional<EvalRecord> eval;   // where an evaluation followed
  std::vector<NamedNumber> metrics;
};

/// Names numbers for each of the plan's metrics, each times `scale`.
std::vector<NamedNumber> namedMetrics(const plan::Plan &plan,
                                      const std::vector<double> &metrics,
                                      double scale = 1);

/// Returns the record as one JSON object. Numbers read back as the same
/// doubles; JSON has no infinity and no NaN, which become null, as a norm does
/// that the plan does not compute.
std::string toJson(const StepRecord &record);

/// Returns what TensorBoard shows of it, with the names that the log has;
/// metrics as "metrics/NAME" and "eval_metrics/NAME".
std::vector<NamedNumber> numbersOf(const StepRecord &record);

/// The log file, a line a step. A run that fails before its first step leaves
/// the file as it was, or none. One that goes on from another keeps the lines
/// of steps before its first one.
class TrainLog {
public:
  /// Opens the file, or makes it.
  static absl::StatusOr<std::unique_ptr<TrainLog>>
  open(const std::string &path, uint64_t first_step = 0);
  ~TrainLog();

  absl::Status add(const StepRecord &record);
  /// Removes what an earlier run wrote of the steps that this one makes, if no
  /// record has yet: there was nothing to log.
  absl::Status start();

private:
  TrainLog() = default;
  absl::Status findKept();

  std::string path;
  std::FILE *file = nullptr;
  bool created = false; // no file was there
  bool started = false; // what was there is gone
  uint64_t first_step = 0;
  off_t kept = 0; // bytes of the steps before the first one
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_TRAINLOG_H
