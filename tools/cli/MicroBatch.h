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

/// Returns an error for `--micro-batch auto`, to a command that makes no plan
/// to train with.
absl::Status needNumber(const CompileOptions &options);

/// Samples of a step, of all ranks, and who says so, for messages.
struct GlobalBatch {
  int64_t samples = 0; ///< 0: nobody says
  std::string from;
};

/// Samples of a micro-batch that no option but a dim says.
struct FixedSamples {
  int64_t samples = 0; ///< 0: nothing says
  bool by_dim = false; ///< by `--dim`, not by the model's file
};

/// Gives each rank the same part of a step: sets `samples` where they are not
/// known, else `accumulate`. With `--micro-batch auto` sets neither.
absl::Status divideStep(CompileOptions &options, const GlobalBatch &step,
                        const FixedSamples &fixed);

/// For `--micro-batch auto`: sets `samples` to the most that fit into
/// `--memory`, at most `most`; of a step with known samples, so many that
/// `accumulate` makes up for the rest. 1 where even that does not fit, so that
/// the compiler says what would. `bind` gives the dims of a model the sizes
/// that follow.
absl::Status
chooseMicroBatch(CompileOptions &options, const GlobalBatch &step,
                 uint64_t most,
                 absl::FunctionRef<absl::Status(CompileOptions &)> bind);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_MICROBATCH_H
