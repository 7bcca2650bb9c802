//===- Compile.cpp - `compile MODEL.onnx -o PLAN` -------------------------===//

#include "runtime/base/OutputPath.h"
#include "runtime/comm/Launch.h"
#include "runtime/plan/PlanFile.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileModel.h"

#include "absl/strings/str_format.h"

namespace zerograph {

void addCompile(CommandLine &line) {
  CLI::App &command = line.add("compile", "Makes a plan of a model");
  auto model = std::make_shared<std::string>();
  command.add_option("MODEL", *model, "MODEL.onnx")->required();
  auto flags = std::make_shared<CompileFlags>(command, kCompiles);
  line.onRun(command, [model, flags]() -> absl::StatusOr<int> {
    ZG_RETURN_IF_ERROR(needOneProcess());
    ZG_RETURN_IF_ERROR(flags->readConfig(*model, std::nullopt));
    ZG_ASSIGN_OR_RETURN(CompileOptions options, flags->resolve());
    options.model = *model;
    ZG_RETURN_IF_ERROR(checkOutputPath(options.output));
    ZG_ASSIGN_OR_RETURN(CompileResult result,
                        compileModel(options, /*data=*/{}, options.output));
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
    return 0;
  });
}

} // namespace zerograph
