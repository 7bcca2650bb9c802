//===- InspectPlan.cpp - `inspect PLAN` -----------------------------------===//

#include "runtime/plan/Inspect.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/Kernels.h"
#include "tools/cli/OptionTable.h"

#include <cstdio>
#include <memory>

namespace zerograph {

void addInspect(CommandLine &line) {
  struct Options {
    std::string path;
    bool json = false;
    bool steps = false;
    bool kernels = false;
    DiskUse disk;
  };
  CLI::App &command = line.add(
      "inspect", "Says what a plan does: units, memory, traffic, steps");
  auto options = std::make_shared<Options>();
  command.add_option("PLAN", options->path, "A plan")->required();
  CLI::Option *json =
      command.add_flag("--json", options->json, "One JSON object, with steps");
  command.add_flag("--steps", options->steps, "List every step as well")
      ->excludes(json);
  command.add_flag("--kernels", options->kernels,
                   "List every kernel as well; of CUDA's, by ptxas where there "
                   "is one, registers and shared memory");
  command
      .add_option("--disk-tbw", options->disk.terabytes,
                  "Of a plan with files: terabytes that may be written to the "
                  "disk (its data sheet's TBW); says how many steps it lasts")
      ->check(checks::positive.validator);
  command
      .add_option("--step-time", options->disk.step_seconds,
                  "Seconds that a step takes: says what is written a day, and "
                  "with --disk-tbw how many days the disk lasts")
      ->check(checks::positive.validator);
  line.onRun(command, [options]() -> absl::StatusOr<int> {
    ZG_ASSIGN_OR_RETURN(LoadedPlan plan, readPlan(options->path));
    auto report = inspectPlan(plan);
    if (!report.ok()) {
      return annotate(report.status(), options->path);
    }
    if (options->disk.terabytes > 0 || options->disk.step_seconds > 0) {
      addDiskUse(options->disk, *report);
    }
    nlohmann::ordered_json kernels;
    if (options->kernels) {
      kernels = kernelsJson(plan.plan);
      (*report)["kernel_list"] = kernels;
    }
    std::string text =
        options->json ? report->dump(2, ' ', false,
                                     nlohmann::json::error_handler_t::replace) +
                            "\n"
                      : inspectText(*report, options->steps);
    if (options->kernels && !options->json) {
      text += kernelsText(kernels);
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  });
}

} // namespace zerograph
