//===- VerifyPlan.cpp - `verify PLAN` -------------------------------------===//

#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Verify.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/InputFile.h"

#include <cstdio>
#include <memory>

namespace zerograph {

void addVerify(CommandLine &line) {
  CLI::App &command = line.add(
      "verify", "Proves that a plan has no races, lost gradients or misuse of "
                "memory, for every rank and timing");
  auto path = std::make_shared<std::string>();
  command.add_option("PLAN", *path, "A plan")->required();
  line.onRun(command, [path]() -> absl::StatusOr<int> {
    ZG_RETURN_IF_ERROR(checkInputFile(*path, Input::Plan));
    ZG_ASSIGN_OR_RETURN(LoadedPlan loaded, readPlan(*path));
    absl::Status status = verifyPlan(loaded.plan);
    if (!status.ok()) {
      return annotate(status, *path);
    }
    size_t steps = 0;
    for (const plan::Program &program : loaded.plan.programs()) {
      steps += program.steps_size();
    }
    std::printf("%s: %zu steps for %u ranks verified\n", path->c_str(), steps,
                worldOf(loaded.plan));
    return 0;
  });
}

} // namespace zerograph
