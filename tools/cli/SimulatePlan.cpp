//===- SimulatePlan.cpp - `simulate PLAN` ---------------------------------===//

#include "runtime/exec/Trace.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanFile.h"
#include "simulate/Predict.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/MachineFlags.h"

#include <cstdio>
#include <memory>

namespace zerograph {
namespace {

struct Options {
  explicit Options(CLI::App &command) : machine(command) {}

  MachineFlags machine;
  std::string plan, trace;
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

absl::StatusOr<int> run(const Options &options) {
  ZG_RETURN_IF_ERROR(checkNotRead("--trace", options.trace,
                                  {options.plan, options.machine.source()}));
  ZG_RETURN_IF_ERROR(checkInputFile(options.plan, Input::Plan));
  ZG_ASSIGN_OR_RETURN(LoadedPlan loaded, readPlan(options.plan));
  ZG_ASSIGN_OR_RETURN(simulate::Machine machine, options.machine.machine());
  simulate::Cluster cluster =
      options.machine.cluster(worldOf(loaded.plan), machine);
  auto prediction = simulate::predict(loaded.plan, machine, cluster);
  if (!prediction.ok()) {
    return annotate(prediction.status(), options.plan);
  }
  if (!options.trace.empty()) {
    ZG_RETURN_IF_ERROR(writeTrace(loaded.plan, options.trace, *prediction));
  }
  std::string text =
      options.json
          ? simulate::predictionJson(loaded.plan, *prediction).dump(2) + "\n"
          : simulate::predictionText(loaded.plan, *prediction);
  std::fputs(text.c_str(), stdout);
  return 0;
}

} // namespace

void addSimulate(CommandLine &line) {
  CLI::App &command = line.add(
      "simulate", "Predicts how long a step of a plan takes on a machine, and "
                  "why");
  auto options = std::make_shared<Options>(command);
  command.add_option("PLAN", options->plan, "A plan")->required();
  command.add_option("--trace", options->trace,
                     "a file for Perfetto: when each step runs");
  command.add_flag("--json", options->json, "all of it, for programs");
  line.onRun(command, [options]() { return run(*options); });
}

} // namespace zerograph
