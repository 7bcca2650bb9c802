//===- Compile.cpp - `compile MODEL.onnx -o PLAN` -------------------------===//

#include "options/Sizes.h"
#include "runtime/base/OutputPath.h"
#include "runtime/comm/Launch.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/PlanFile.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/Notes.h"

#include "absl/strings/str_format.h"

#include <filesystem>

namespace zerograph {
namespace {

/// Says in four lines what was made, what it needs and moves, and what comes
/// next.
void sayMade(const plan::Plan &plan, const std::string &path) {
  std::error_code ignored; // it has just been written
  absl::PrintF("made %s (%s) of %s\n"
               "memory a rank: %s; fits %s\n"
               "traffic a step and rank: %s\n"
               "next: zerograph train %s --data FILE; zerograph inspect %s\n",
               path,
               options::sizeText(std::filesystem::file_size(path, ignored)),
               planTitle(plan), memoryLine(plan, /*exact=*/false),
               fitsLine(plan, /*exact=*/false),
               trafficLine(plan, /*exact=*/false), path, path);
}

} // namespace

void addCompile(CommandLine &line) {
  CLI::App &command = line.add("compile", "Makes a plan of a model");
  auto model = std::make_shared<std::string>();
  command.add_option("MODEL", *model, "MODEL.onnx")->required();
  auto flags = std::make_shared<CompileFlags>(command, kCompiles);
  auto removeOld = [model, &command] {
    for (const std::string &path : command.get_option("--output")->results()) {
      removeOldPlan(path, *model);
    }
  };
  line.onFailure(command, removeOld);
  line.onRun(command, [=]() -> absl::StatusOr<int> {
    ZG_RETURN_IF_ERROR(needOneProcess());
    removeOld(); // before a signal could end this
    ZG_RETURN_IF_ERROR(flags->readConfig(*model, std::nullopt));
    ZG_ASSIGN_OR_RETURN(CompileOptions options, flags->resolve());
    options.model = *model;
    ZG_RETURN_IF_ERROR(checkOutputPath(options.output));
    ZG_ASSIGN_OR_RETURN(CompileResult result,
                        compileModel(options, std::nullopt, options.output));
    absl::Status written = writePlan(result.plan, options.output);
    if (!written.ok()) {
      removeExtraWeights(result, options.output); // no plan names them
      return written;
    }
    if (options.timing) {
      for (auto &[phase, seconds] : result.seconds) {
        absl::PrintF("%8.3f s  %s\n", seconds, phase);
      }
    }
    releaseNotes(); // what was made comes last
    sayMade(result.plan, options.output);
    return 0;
  });
}

} // namespace zerograph
