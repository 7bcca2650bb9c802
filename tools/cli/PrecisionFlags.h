//===- PrecisionFlags.h - the options of the precision --------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_PRECISIONFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_PRECISIONFLAGS_H

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "options/Options.h"

#include <string>

namespace zerograph {

/// Checks what must hold between the options of precision.
absl::Status checkPrecisionOptions(
    const options::Compile &options,
    absl::FunctionRef<bool(const std::string &option)> isGiven);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_PRECISIONFLAGS_H
