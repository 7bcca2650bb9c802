//===- BodyWeights.h - weights within loops and branches ------------------===//

#ifndef ZEROGRAPH_FRONTEND_QUIRKS_BODYWEIGHTS_H
#define ZEROGRAPH_FRONTEND_QUIRKS_BODYWEIGHTS_H

#include "onnx/onnx_pb.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace zerograph::frontend {

/// Calls `visit` for each initializer of floats that a body of a node has, an
/// If's branch or what a Loop repeats, with a name that no other value of the
/// graph has: its own, or that and a number.
void eachBodyWeight(
    onnx::GraphProto &graph,
    llvm::function_ref<void(onnx::TensorProto &tensor, const std::string &name)>
        visit);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_QUIRKS_BODYWEIGHTS_H
