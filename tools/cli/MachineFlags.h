//===- MachineFlags.h - the options that name a machine -------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_MACHINEFLAGS_H
#define ZEROGRAPH_TOOLS_CLI_MACHINEFLAGS_H

#include "simulate/StepWork.h"

#include <CLI/App.hpp>

#include <string>

namespace zerograph {

/// Declares --machine, --nodes, --ranks-per-node and --what-if on a command,
/// and turns what was given into a machine and a cluster. Outlives the command.
class MachineFlags {
public:
  enum class Use { Required, Optional };
  explicit MachineFlags(CLI::App &command, Use use = Use::Required);

  /// The name or the file that was given; empty without --machine.
  const std::string &source() const { return where; }
  absl::StatusOr<simulate::Machine> machine() const;
  /// Returns where so many ranks are: without options, on as few nodes as hold
  /// them.
  simulate::Cluster cluster(uint32_t ranks,
                            const simulate::Machine &machine) const;

private:
  std::string where, changes;
  uint32_t nodes = 0, ranks_per_node = 0; // 0: follow from the others
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_MACHINEFLAGS_H
