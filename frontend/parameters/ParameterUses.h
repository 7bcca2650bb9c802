//===- ParameterUses.h - what a graph uses its initializers for -----------===//

#ifndef ZEROGRAPH_FRONTEND_PARAMETERS_PARAMETERUSES_H
#define ZEROGRAPH_FRONTEND_PARAMETERS_PARAMETERUSES_H

#include "frontend/graph/Graph.h"

#include "passes/ir/nn/NNDialect.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace zerograph::frontend {

/// Finds what initializers of `graph`, which must outlive it, are used for:
/// also after nodes that only rearrange or convert, and within bodies.
class ParameterUses {
public:
  using Visitor =
      llvm::function_ref<void(const onnx::NodeProto &node, int input)>;

  explicit ParameterUses(const Graph &graph) : graph(graph) {}

  /// Calls visit(node, input index) for each use of `name`.
  void each(const std::string &name, Visitor visit) const;

  /// How --init-missing initializes the parameter, by what its uses tell.
  mlir::zg::nn::InitKind initOf(const onnx::TensorProto &tensor) const;
  /// The dotted path of the module that owns the parameter; "" if unknown.
  std::string moduleOf(const std::string &name) const;

private:
  void visitBodies(int node, const std::string &name, Visitor visit) const;

  const Graph &graph;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_PARAMETERS_PARAMETERUSES_H
