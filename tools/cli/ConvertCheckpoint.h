//===- ConvertCheckpoint.h - `checkpoint convert` -------------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_CONVERTCHECKPOINT_H
#define ZEROGRAPH_TOOLS_CLI_CONVERTCHECKPOINT_H

#include "tools/cli/CommandLine.h"

namespace zerograph {

/// Adds the action `convert` to the command `checkpoint`.
void addConvertCheckpoint(CommandLine &line, CLI::App &command);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_CONVERTCHECKPOINT_H
