//===- MixedSamples.h - whether samples are computed alone ----------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_MIXEDSAMPLES_H
#define ZEROGRAPH_TOOLS_COMPILER_MIXEDSAMPLES_H

#include "mlir/IR/BuiltinOps.h"
#include "tools/compiler/Compile.h"

namespace zerograph {

/// Imports the model, to be run forward, and finds an output whose row of a
/// sample depends on other samples too: "output 'y', through node 'n'
/// (nn.softmax)". Empty: there is none. A micro-batch of one sample shows
/// nothing.
absl::StatusOr<std::string> findMixedOutput(const CompileOptions &options);

/// The same of the loss of @evaluate in `module`, where samples are not only
/// added up: "node 'n' (nn.softmax)".
std::string findMixedLoss(mlir::ModuleOp module);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_MIXEDSAMPLES_H
