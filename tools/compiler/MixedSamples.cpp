//===- MixedSamples.cpp - whether samples are computed alone --------------===//

#include "tools/compiler/MixedSamples.h"

#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/Samples.h"
#include "runtime/base/Status.h"
#include "tools/compiler/CompilerContext.h"
#include "tools/compiler/Import.h"

namespace zerograph {

using namespace mlir::zg;

absl::StatusOr<std::string> findMixedOutput(const CompileOptions &options) {
  CompilerContext context;
  CompileOptions forward = options;
  forward.forward = true;
  CompileResult said; // again when the model is compiled
  ZG_ASSIGN_OR_RETURN(ImportedModel model,
                      importForPlan(context, forward, said));
  auto program =
      model.module->lookupSymbol<nn::ProgramOp>(nn::kForwardFunction);
  nn::SampleAnalysis samples(program);
  mlir::ValueRange results = program.front().getTerminator()->getOperands();
  for (auto [i, value] : llvm::enumerate(results)) {
    mlir::Operation *mixer = samples.of(value).mixer;
    if (mixer && program.getResultAttr(i, nn::kPerSampleAttr)) {
      auto name =
          program.getResultAttrOfType<mlir::StringAttr>(i, nn::kOutputAttr);
      return absl::StrCat("output '", name.str(), "', through ",
                          nn::describe(mixer));
    }
  }
  return "";
}

std::string findMixedLoss(mlir::ModuleOp module) {
  auto program = module.lookupSymbol<nn::ProgramOp>(nn::kEvaluateFunction);
  nn::SampleAnalysis samples(program);
  mlir::Operation *mixer =
      samples.mixerBehind(program.front().getTerminator()->getOperand(0));
  return mixer ? nn::describe(mixer) : "";
}

} // namespace zerograph
