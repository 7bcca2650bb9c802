//===- MeasuredRun.h - when steps ran, as a trace says --------------------===//

#ifndef ZEROGRAPH_REPORT_MEASUREDRUN_H
#define ZEROGRAPH_REPORT_MEASUREDRUN_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/plan/plan.pb.h"

#include <vector>

namespace zerograph::report {

/// A step that ran: its work, and the waits for other ranks around it, in
/// seconds from the trace's begin.
struct MeasuredStep {
  double begin = 0, end = 0; ///< of the work
  double waited = 0;         ///< for other ranks
  bool known = false;        ///< the trace has it
};

/// Maps program -> step -> when it ran on rank 0; a program that did not run
/// has no steps.
using MeasuredRun = std::vector<std::vector<MeasuredStep>>;

/// Parses what `train --trace` or `simulate --trace` wrote of a run of this
/// valid plan. What is no such trace, is one of another plan, or lacks steps,
/// is an error.
absl::StatusOr<MeasuredRun> parseTrace(const plan::Plan &plan,
                                       absl::string_view text);

} // namespace zerograph::report

#endif // ZEROGRAPH_REPORT_MEASUREDRUN_H
