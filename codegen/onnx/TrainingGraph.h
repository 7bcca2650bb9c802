//===- TrainingGraph.h - a program of nn as an ONNX file ------------------===//

#ifndef ZEROGRAPH_CODEGEN_ONNX_TRAININGGRAPH_H
#define ZEROGRAPH_CODEGEN_ONNX_TRAININGGRAPH_H

#include "frontend/export/Export.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::zg {

/// The suffixes of a parameter's name: for its gradient, and for what a
/// micro-batch makes of it (a running statistic).
inline constexpr char kGradientSuffix[] = ".gradient";
inline constexpr char kNextSuffix[] = ".next";

/// The program `@micro` of `module` as an ONNX model: inputs and parameters in;
/// the loss, gradients and new statistics out. Parameters are inputs whose
/// default values are `weights`, by name; those that have none have to be fed.
/// Values of more than 1 GiB together go to "OUTPUT.data", beside `output`.
/// An error names every op that ONNX has no operators for.
absl::StatusOr<zerograph::frontend::ExportedModel>
writeTrainingGraph(ModuleOp module,
                   const zerograph::frontend::TrainedWeights &weights,
                   const std::string &output);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_ONNX_TRAININGGRAPH_H
