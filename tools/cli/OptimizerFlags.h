//===- OptimizerFlags.h - the options of the optimizer and its schedule ---===//

#ifndef ZEROGRAPH_TOOLS_CLI_OPTIMIZERFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_OPTIMIZERFLAGS_H

#include "options/Options.h"
#include "runtime/plan/plan.pb.h"

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include <string>

namespace zerograph {

/// Refuses options that the chosen optimizer does not use, and values that it
/// cannot have.
absl::Status checkOptimizerOptions(
    const options::Compile &options,
    absl::FunctionRef<bool(const std::string &option)> isGiven);

/// Refuses options that the chosen schedule does not use, and asks for those
/// that it needs. Says on standard error where the rate never gets to its peak.
absl::Status checkScheduleOptions(
    const options::Compile &options,
    absl::FunctionRef<bool(const std::string &option)> isGiven);

/// Says on standard error where a schedule ends before its warm-up.
void sayShortSchedule(const plan::Schedule &schedule);

/// The steps of a run whose length only the data decides, until that is known:
/// no run is longer.
constexpr uint64_t kUnknownSteps = uint64_t(1) << 40;

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_OPTIMIZERFLAGS_H
