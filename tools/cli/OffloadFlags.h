//===- OffloadFlags.h - the options of what lies elsewhere ----------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_OFFLOADFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_OFFLOADFLAGS_H

#include "absl/status/status.h"
#include "options/Options.h"

#include <string>

namespace zerograph {

/// Refuses options that contradict each other, or that are not built together.
/// Says on standard error what has no effect.
absl::Status checkOffloadOptions(const options::Compile &options);

/// Returns the option by which a plan keeps something in files, for sure;
/// empty: none, or only the plan itself tells.
std::string offloadInFiles(const options::Compile &options);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_OFFLOADFLAGS_H
