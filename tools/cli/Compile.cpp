//===- Compile.cpp - `compile MODEL.onnx -o PLAN` -------------------------===//

#include "runtime/base/OutputPath.h"
#include "runtime/comm/mpi/Launch.h"
#include "runtime/plan/PlanFile.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileModel.h"

#include "absl/strings/str_format.h"

namespace zerograph {

void addCompile(CommandLine &line) {
  CLI::App &command = line.add("compile", "Makes a plan of a model");
  struct Flags {
    std::string model, output;
    bool dump_gradients = false, timing = false;
  };
  auto own = std::make_shared<Flags>();
  command.add_option("MODEL", own->model, "MODEL.onnx")->required();
  command.add_option("-o,--output", own->output, "Where the plan goes")
      ->required();
  command.add_flag("--dump-gradients", own->dump_gradients,
                   "A plan whose first gradients `train` can dump");
  command.add_flag("--timing", own->timing, "Print each phase's seconds");
  auto flags = std::make_shared<CompileFlags>(command);
  line.onRun(command, [own, flags]() -> absl::StatusOr<int> {
    ZG_RETURN_IF_ERROR(needOneProcess());
    ZG_ASSIGN_OR_RETURN(CompileOptions options, flags->resolve());
    options.model = own->model;
    options.dump_gradients = own->dump_gradients;
    ZG_RETURN_IF_ERROR(checkOutputPath(own->output));
    ZG_ASSIGN_OR_RETURN(
        CompileResult result,
        compileModel(options, flags->microBatch(), /*data=*/"", own->output));
    absl::Status written = writePlan(result.plan, own->output);
    if (!written.ok()) {
      removeExtraWeights(result, own->output); // no plan names them
      return written;
    }
    if (own->timing) {
      for (auto &[phase, seconds] : result.seconds) {
        absl::PrintF("%8.3f s  %s\n", seconds, phase);
      }
    }
    return 0;
  });
}

} // namespace zerograph
