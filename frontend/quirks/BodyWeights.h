//===- BodyWeights.h - weights within loops and branches ------------------===//

#ifndef ZEROGRAPH_FRONTEND_QUIRKS_BODYWEIGHTS_H
#define ZEROGRAPH_FRONTEND_QUIRKS_BODYWEIGHTS_H

#include "onnx/onnx_pb.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace zerograph::frontend {

/// Calls `visit` for each initializer of floats that a body of a node has, an
/// If's branch or what a Loop repeats. `name` says where it stands, and so is
/// the same whatever else the file has: y.then_branch.w, where y is the first
/// result of the If.
void eachBodyWeight(
    onnx::GraphProto &graph,
    llvm::function_ref<void(onnx::TensorProto &tensor, const std::string &name)>
        visit);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_QUIRKS_BODYWEIGHTS_H
