//===- OptimizerFlags.h - the options of the optimizer --------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_OPTIMIZERFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_OPTIMIZERFLAGS_H

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "options/Options.h"

#include <string>

namespace zerograph {

/// Refuses options that the chosen optimizer does not use, and values that it
/// cannot have.
absl::Status checkOptimizerOptions(
    const options::Compile &options,
    absl::FunctionRef<bool(const std::string &option)> isGiven);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_OPTIMIZERFLAGS_H
