//===- TrainingGraph.cpp - from a model file to its gradient graph --------===//

#include "tools/compiler/TrainingGraph.h"

#include "codegen/onnx/TrainingGraph.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNDialect.h"
#include "runtime/base/Status.h"
#include "runtime/io/File.h"
#include "tools/compiler/CompilerContext.h"
#include "tools/compiler/Import.h"
#include "tools/compiler/RunPhases.h"

#include "llvm/Support/Path.h"

namespace zerograph {
namespace {

using mlir::zg::nn::ParameterAttr;

/// A parameter whose bytes lie in the model's file or in one beside it; without
/// a value where there is no such file.
absl::StatusOr<std::optional<frontend::TrainedWeight>>
weightOf(const std::string &model, ParameterAttr parameter) {
  std::string folder = llvm::sys::path::parent_path(model).str();
  std::string name = parameter.getSource().getFile().str();
  absl::StatusOr<std::shared_ptr<File>> file =
      name == llvm::sys::path::filename(model)
          ? File::openForReading(model)
          : File::openBeneath(folder, name);
  if (absl::IsNotFound(file.status())) {
    return std::nullopt;
  }
  ZG_RETURN_IF_ERROR(file.status());
  frontend::TrainedWeight weight;
  auto offset = uint64_t(parameter.getSource().getOffset()),
       length = uint64_t(parameter.getSource().getLength());
  weight.read = [file = *file, offset,
                 length](const std::string &) -> absl::StatusOr<std::string> {
    std::string bytes(length, '\0');
    ZG_RETURN_IF_ERROR(file->read(offset, length, bytes.data()));
    return bytes;
  };
  return weight;
}

absl::Status addWeights(mlir::ModuleOp module, const std::string &model,
                        const frontend::ImportReport &report,
                        frontend::TrainedWeights &weights) {
  for (const frontend::InlineWeight &weight : report.inline_weights) {
    weights[weight.name].read = [bytes = weight.bytes](const std::string &) {
      return absl::StatusOr<std::string>(bytes);
    };
  }
  auto program = module.lookupSymbol<mlir::zg::nn::ProgramOp>(
      mlir::zg::nn::kForwardFunction);
  for (unsigned i = 0; i < program.getNumArguments(); ++i) {
    auto parameter = program.getArgAttrOfType<ParameterAttr>(
        i, mlir::zg::nn::kParameterAttr);
    if (!parameter || !parameter.getSource()) {
      continue;
    }
    ZG_ASSIGN_OR_RETURN(std::optional<frontend::TrainedWeight> weight,
                        weightOf(model, parameter));
    if (weight) {
      weights.emplace(parameter.getName().str(), *std::move(weight));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainingGraph> makeIn(mlir::MLIRContext &context,
                                     const CompileOptions &options) {
  TrainingGraph result;
  Diagnostics diagnostics(context);
  frontend::ImportReport report;
  ZG_ASSIGN_OR_RETURN(frontend::ImportOptions import, importOptionsOf(options));
  ZG_ASSIGN_OR_RETURN(
      mlir::OwningOpRef<mlir::ModuleOp> module,
      frontend::importModel(context, options.model, import, &report));
  result.warnings = report.warnings;
  result.notes = report.notes;
  llvm::append_range(result.notes, report.remarks);
  ZG_RETURN_IF_ERROR(
      addWeights(*module, options.model, report, result.weights));
  DumpDirectory dump(options.dump_ir);
  ZG_RETURN_IF_ERROR(dump.open());
  ZG_RETURN_IF_ERROR(dump.write("import", *module));
  ZG_RETURN_IF_ERROR(
      runPhases(mlir::zg::gradientPhases({report.loss_output, options}),
                *module, dump, diagnostics, /*verify=*/true));
  ZG_ASSIGN_OR_RETURN(
      result.model,
      mlir::zg::writeTrainingGraph(*module, result.weights, options.output));
  llvm::append_range(result.warnings, diagnostics.takeWarnings());
  return result;
}

} // namespace

absl::StatusOr<TrainingGraph> makeTrainingGraph(const CompileOptions &options) {
  CompilerContext context;
  return makeIn(context, options);
}

} // namespace zerograph
