//===- Parameters.h - which initializers are parameters, and whose --------===//

#ifndef ZEROGRAPH_FRONTEND_PARAMETERS_PARAMETERS_H
#define ZEROGRAPH_FRONTEND_PARAMETERS_PARAMETERS_H

#include "frontend/Import.h"
#include "frontend/file/ModelFile.h"
#include "frontend/graph/Graph.h"

#include "passes/ir/nn/NNDialect.h"

namespace zerograph::frontend {

/// The reason of an argument that is none of the model's parameters and whose
/// values nobody has.
inline constexpr char kUnreadableConstant[] =
    "a constant whose values are not there";

/// An initializer that becomes an argument of the program.
struct Parameter {
  const onnx::TensorProto *tensor = nullptr;
  bool trainable = false;
  std::string reason;
  std::string module; ///< dotted path; empty: unknown
  mlir::zg::nn::InitKind init = mlir::zg::nn::InitKind::normal;
  /// One of the options' wishes: what is to be trained beside it; or null.
  const AdapterWish *adapter = nullptr;

  /// Returns whether the loss's gradient is to flow to where it is used.
  bool isTrained() const { return trainable || adapter != nullptr; }
};

/// Decides which initializers are arguments of the program and which of these
/// are trained; those not returned are constants. What decides is, in this
/// order: --lora, --freeze and --train, the exporter's signature, and, without
/// one, whether a gradient of `loss` reaches the initializer and what its name
/// and shape look like. Throws ImportError if a pattern matches nothing. `loss`
/// empty: nothing is trained.
std::vector<Parameter> decideParameters(const ModelFile &file,
                                        const Graph &graph,
                                        const std::string &loss,
                                        const ImportOptions &options,
                                        ImportReport &report);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_PARAMETERS_PARAMETERS_H
