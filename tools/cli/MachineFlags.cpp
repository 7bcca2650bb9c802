//===- MachineFlags.cpp - the options that name a machine -----------------===//

#include "tools/cli/MachineFlags.h"

#include "runtime/base/Status.h"

#include <algorithm>

namespace zerograph {

MachineFlags::MachineFlags(CLI::App &command, Use use) {
  CLI::Option *machine = command.add_option(
      "--machine", where,
      "a machine of the project, such as h100-sxm, or a file of figures");
  machine->required(use == Use::Required);
  command
      .add_option("--nodes", nodes,
                  "nodes that the ranks are on; default: as few as hold them")
      ->check(CLI::Range(1u, 1u << 16))
      ->needs(machine);
  command
      .add_option("--ranks-per-node", ranks_per_node,
                  "default: all ranks, divided by the nodes")
      ->check(CLI::Range(1u, 1u << 16))
      ->needs(machine);
  command
      .add_option("--what-if", changes,
                  "changes figures of the machine: "
                  "link_bandwidth=2x,memory=+16")
      ->needs(machine);
}

absl::StatusOr<simulate::Machine> MachineFlags::machine() const {
  ZG_ASSIGN_OR_RETURN(simulate::Machine machine, simulate::findMachine(where));
  if (!changes.empty()) {
    ZG_RETURN_IF_ERROR(simulate::change(machine, changes));
    absl::StrAppend(&machine.name, " with ", changes);
  }
  return machine;
}

simulate::Cluster
MachineFlags::cluster(uint32_t ranks, const simulate::Machine &machine) const {
  simulate::Cluster cluster{nodes, ranks_per_node};
  if (nodes == 0 && ranks_per_node == 0) {
    uint32_t most =
        machine.device == "host" ? ranks : uint32_t(machine.devices);
    cluster.ranks_per_node = ranks <= most || ranks % most != 0 ? ranks : most;
  }
  if (cluster.nodes == 0) {
    cluster.nodes = std::max(1u, ranks / cluster.ranks_per_node);
  } else if (cluster.ranks_per_node == 0) {
    cluster.ranks_per_node = std::max(1u, ranks / cluster.nodes);
  }
  return cluster;
}

} // namespace zerograph
