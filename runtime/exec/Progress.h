//===- Progress.h - how far a run is, for who watches it ------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_PROGRESS_H
#define ZEROGRAPH_RUNTIME_EXEC_PROGRESS_H

#include "runtime/exec/TrainLog.h"
#include "runtime/plan/plan.pb.h"

namespace zerograph {

/// The run whose progress is shown: its steps, those before it, and the samples
/// and tokens of a step.
struct ProgressRun {
  uint64_t steps = 0, first_step = 0;
  uint64_t samples = 0; ///< of a step
  uint64_t tokens = 0;  ///< also of a step; 0: the model reads none
};

/// Returns the positions of a sequence that the model looks up in a table, the
/// most of an input; 0 if no input is a sequence of such indices.
uint64_t tokensOfSample(const plan::Plan &plan);

/// Shows loss, rate, samples and tokens a second and the time left: on a
/// terminal in one line of standard error that moves, elsewhere in a line of
/// standard output now and then. One thread uses it.
class Progress {
public:
  /// `every` asks for a line after every so many steps and the last; none:
  /// after 1, 2, 5, 10, ... steps and where the last line is half a minute old,
  /// and not on a terminal.
  Progress(const ProgressRun &run, std::optional<uint64_t> every);
  ~Progress() { endLine(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void add(const StepRecord &record);
  /// Ends the line that moves, where there is one, since something else is to
  /// be said.
  void endLine();

private:
  using Clock = std::chrono::steady_clock;
  /// The last line that was shown; the next rate counts from there.
  struct Shown {
    uint64_t done;
    Clock::time_point at;
  };

  bool isDue(uint64_t done, Clock::time_point now) const;
  std::string lineOf(const StepRecord &record, Clock::time_point now,
                     const Shown &since) const;

  ProgressRun run;
  std::optional<uint64_t> every;
  bool moves, prints;
  bool together; ///< both on one terminal
  bool drawn = false;
  Clock::time_point begin;
  Shown line, draw;               ///< by `prints`, and by `moves`
  std::optional<EvalRecord> eval; ///< the latest
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_PROGRESS_H
