//===- TrainPlan.cpp - `train PLAN` ---------------------------------------===//

#include "runtime/base/Status.h"
#include "runtime/plan/PlanFile.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/TrainFlags.h"

namespace zerograph {

absl::StatusOr<CompiledPlan> readPlanToTrain(const std::string &path) {
  CompiledPlan made;
  made.path = path;
  ZG_ASSIGN_OR_RETURN(made.plan, readPlan(path));
  return made;
}

std::string deviceOfPlan(const std::string &path) {
  absl::StatusOr<LoadedPlan> plan = readPlan(path);
  return plan.ok() && plan->plan.devices_size() > 0
             ? plan->plan.devices(0).device()
             : "";
}

void addTrainPlan(CommandLine &line) {
  CLI::App &command = line.add("train", "Trains with a plan");
  auto path = std::make_shared<std::string>();
  auto flags = std::make_shared<TrainFlags>(command);
  line.addFile(command, "PLAN", "A plan", *path, flags->data());
  line.onRun(command, [path, flags, &line] {
    return flags->run(
        line, {[path](std::optional<unsigned>) -> absl::StatusOr<CompiledPlan> {
                 ZG_RETURN_IF_ERROR(checkInputFile(*path, Input::Plan));
                 return readPlanToTrain(*path);
               },
               [path] { return deviceOfPlan(*path); }});
  });
}

} // namespace zerograph
