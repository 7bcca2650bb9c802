//===- MicroBatch.h - how a step's samples are divided --------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_MICROBATCH_H
#define ZEROGRAPH_TOOLS_CLI_MICROBATCH_H

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tools/compiler/Compile.h"

#include <string>

namespace zerograph {

/// The value of --micro-batch that leaves it to the compiler.
constexpr char kAutoMicroBatch[] = "auto";

/// Samples of a step, of all ranks, and who says so, for messages.
struct StepBatch {
  int64_t samples = 0; ///< 0: nobody says
  std::string from;
};

/// Gives each rank the same part of a step: sets `samples` where they are not
/// known, else `accumulate`. With `--micro-batch auto` sets neither, unless
/// `accumulate` is given. `fixed` is how many samples of a micro-batch a dim or
/// the model says; 0: neither does.
absl::Status divideStep(CompileOptions &options, const StepBatch &step,
                        int64_t fixed);

/// For `--micro-batch auto`: sets `samples` to the most that fit into
/// `--memory`, at most `most`; of a step with known samples, so many that
/// `accumulate` makes up for the rest. 1 where even that does not fit, so that
/// the compiler says what would. `bind` gives the dims of a model the sizes
/// that follow.
absl::Status
chooseMicroBatch(CompileOptions &options, const StepBatch &step, uint64_t most,
                 absl::FunctionRef<absl::Status(CompileOptions &)> bind);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_MICROBATCH_H
