//===- Import.cpp - the model of a compilation ----------------------------===//

#include "tools/compiler/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "options/Lora.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNDialect.h"
#include "runtime/base/Status.h"
#include "tools/compiler/MixedSamples.h"

namespace zerograph {
namespace {

void takeReport(frontend::ImportReport &report, CompileResult &result) {
  result.warnings = std::move(report.warnings);
  result.notes = std::move(report.notes);
  result.remarks = std::move(report.remarks);
  for (frontend::ParameterDecision &decision : report.parameters) {
    result.decisions[decision.name] = {decision.trainable, decision.reason};
  }
  for (frontend::InlineWeight &weight : report.inline_weights) {
    result.extra_weights.push_back({weight.name, std::move(weight.bytes)});
  }
}

/// Adds the forward graph of an evaluation to `module`: the same file, imported
/// as it is evaluated, up to the output `loss` and metrics.
absl::Status addEvaluation(mlir::MLIRContext &context,
                           const CompileOptions &options,
                           frontend::ImportOptions import,
                           const std::string &loss, mlir::ModuleOp module) {
  import.evaluation = true;
  frontend::ImportReport report; // says nothing new
  auto imported =
      frontend::importModel(context, options.model, import, &report);
  if (!imported.ok()) {
    return annotate(imported.status(), "for its evaluation");
  }
  auto program = (*imported)->lookupSymbol<mlir::zg::nn::ProgramOp>(
      mlir::zg::nn::kForwardFunction);
  llvm::BitVector others(program.getNumResults());
  for (unsigned i = 0; i < program.getNumResults(); ++i) {
    auto name = program.getResultAttrOfType<mlir::StringAttr>(
        i, mlir::zg::nn::kOutputAttr);
    bool isMetric = bool(program.getResultAttr(i, mlir::zg::nn::kMetricAttr));
    others[i] = !isMetric && (!name || name.getValue() != loss);
  }
  program.front().getTerminator()->eraseOperands(others);
  program.eraseResults(others);
  program.setName(mlir::zg::nn::kEvaluateFunction);
  program->remove();
  module.push_back(program);
  return absl::OkStatus();
}

/// Computes a model of 16 bits as it was exported, where the user says nothing.
void takePrecision(const std::string &exported, CompileOptions &options,
                   CompileResult &result) {
  if (exported == "fp32" || !options.own_precision || options.forward) {
    return;
  }
  options.precision = exported;
  result.notes.push_back(absl::StrCat(
      "--precision ", exported,
      ", in which the model was exported; --precision fp32 computes in "
      "float32"));
}

} // namespace

absl::StatusOr<frontend::ImportOptions>
importOptionsOf(const CompileOptions &options) {
  frontend::ImportOptions import;
  options::copy<options::kImporter>(options, import);
  import.micro_batch = options.samples;
  import.dims = options.dims;
  import.inputs = options.inputs;
  for (const std::string &text : options.lora) {
    options::Lora lora = options::parseLora(text);
    if (!lora.error.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--lora ", text, ": ", lora.error));
    }
    import.adapters.push_back({lora.rank, lora.pattern});
  }
  import.require_loss = !options.forward;
  import.replaced = options.replaced;
  return import;
}

absl::StatusOr<ImportedModel> importForPlan(mlir::MLIRContext &context,
                                            CompileOptions &options,
                                            CompileResult &result) {
  if (options.imported) {
    const SavedImport &saved = *options.imported;
    result = saved.said;
    options.precision = saved.precision;
    ZG_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                        parseImport(context, saved));
    return ImportedModel{std::move(module), saved.loss_output};
  }
  ZG_ASSIGN_OR_RETURN(frontend::ImportOptions import, importOptionsOf(options));
  frontend::ImportReport report;
  ImportedModel model;
  ZG_ASSIGN_OR_RETURN(
      model.module,
      frontend::importModel(context, options.model, import, &report));
  takeReport(report, result);
  takePrecision(report.precision, options, result);
  model.loss_output = report.loss_output;
  if (options.evaluate && !options.forward) {
    ZG_RETURN_IF_ERROR(addEvaluation(context, options, import,
                                     model.loss_output, *model.module));
    if (std::string mixer = findMixedLoss(*model.module); !mixer.empty()) {
      result.warnings.push_back(absl::StrCat(
          "the evaluated loss of a sample depends on the other samples of its "
          "micro-batch, through ",
          mixer,
          ": it is the mean over micro-batches, each on its own, and another "
          "number with another --micro-batch"));
    }
  }
  return model;
}

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>>
parseImport(mlir::MLIRContext &context, const SavedImport &saved) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      saved.bytecode, mlir::ParserConfig(&context, /*verifyAfterParse=*/false));
  if (!module) {
    return absl::InternalError("the bytecode of a model cannot be read");
  }
  return module;
}

} // namespace zerograph
