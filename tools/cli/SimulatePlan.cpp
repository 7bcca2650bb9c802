//===- SimulatePlan.cpp - `simulate PLAN` ---------------------------------===//

#include "runtime/exec/Trace.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanFile.h"
#include "simulate/Predict.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/InputFile.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace zerograph {
namespace {

struct Options {
  std::string plan, machine, changes, trace;
  uint32_t nodes = 0, ranks_per_node = 0; // 0: follow from the others
  bool json = false;
};

/// Writes when steps ran, as `train --trace` does: of one rank, one run of each
/// program after the other.
absl::Status writeTrace(const plan::Plan &plan, const std::string &path,
                        const simulate::Prediction &prediction) {
  StepTimes times(size_t(plan.programs_size()));
  double before = 0;
  for (const simulate::SimulatedProgram &one : prediction.programs) {
    for (const simulate::Span &span : one.timeline.steps) {
      StepTime time;
      time.begin = int64_t((before + span.begin) * 1e9);
      time.end = int64_t((before + span.end) * 1e9);
      times[size_t(one.program)].push_back(time);
    }
    before += one.timeline.seconds;
  }
  ZG_ASSIGN_OR_RETURN(auto file, TraceFile::open(path));
  return file->write(plan, {times});
}

/// Returns where ranks are: without options, on as few nodes as hold them.
simulate::Cluster clusterOf(const Options &options, uint32_t ranks,
                            const simulate::Machine &machine) {
  simulate::Cluster cluster{options.nodes, options.ranks_per_node};
  if (cluster.ranks_per_node == 0 && cluster.nodes == 0) {
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

/// Refuses to write over what is read.
absl::Status checkTrace(const Options &options) {
  std::error_code error;
  for (const std::string &read : {options.plan, options.machine}) {
    if (std::filesystem::equivalent(read, options.trace, error)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--trace would write over ", read, ", which is read; name another"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> run(const Options &options) {
  ZG_RETURN_IF_ERROR(checkTrace(options));
  ZG_RETURN_IF_ERROR(checkInputFile(options.plan, Input::Plan));
  ZG_ASSIGN_OR_RETURN(LoadedPlan loaded, readPlan(options.plan));
  ZG_ASSIGN_OR_RETURN(simulate::Machine machine,
                      simulate::findMachine(options.machine));
  if (!options.changes.empty()) {
    ZG_RETURN_IF_ERROR(simulate::change(machine, options.changes));
    absl::StrAppend(&machine.name, " with ", options.changes);
  }
  simulate::Cluster cluster = clusterOf(options, worldOf(loaded.plan), machine);
  auto prediction = simulate::predict(loaded.plan, machine, cluster);
  if (!prediction.ok()) {
    return annotate(prediction.status(), options.plan);
  }
  if (!options.trace.empty()) {
    ZG_RETURN_IF_ERROR(writeTrace(loaded.plan, options.trace, *prediction));
  }
  auto json =
      simulate::predictionJson(loaded.plan, machine, cluster, *prediction);
  std::string text =
      options.json ? json.dump(2) + "\n" : simulate::predictionText(json);
  std::fputs(text.c_str(), stdout);
  return 0;
}

} // namespace

void addSimulate(CommandLine &line) {
  CLI::App &command = line.add(
      "simulate", "Predicts how long a step of a plan takes on a machine, and "
                  "why");
  auto options = std::make_shared<Options>();
  command.add_option("PLAN", options->plan, "A plan")->required();
  command
      .add_option("--machine", options->machine,
                  "a machine of the project, such as h100-sxm, or a file of "
                  "figures")
      ->required();
  command
      .add_option("--nodes", options->nodes,
                  "nodes that the ranks are on; default: as few as hold them")
      ->check(CLI::Range(1u, 1u << 16));
  command
      .add_option("--ranks-per-node", options->ranks_per_node,
                  "default: those of the plan, divided by the nodes")
      ->check(CLI::Range(1u, 1u << 16));
  command.add_option("--what-if", options->changes,
                     "changes figures of the machine: "
                     "link_bandwidth=2x,memory=+16");
  command.add_option("--trace", options->trace,
                     "a file for Perfetto: when each step runs");
  command.add_flag("--json", options->json, "all of it, for programs");
  line.onRun(command, [options]() { return run(*options); });
}

} // namespace zerograph
