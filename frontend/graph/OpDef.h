//===- OpDef.h - what is declared about each operator ---------------------===//

#ifndef ZEROGRAPH_FRONTEND_GRAPH_OPDEF_H
#define ZEROGRAPH_FRONTEND_GRAPH_OPDEF_H

#include "onnx/onnx_pb.h"

#include <cstdint>
#include <string>

namespace zerograph::frontend {

class Graph;
class Op;

/// Says whether a gradient can flow from the outputs of a node of `graph` to
/// its input i.
using GradientRule = bool (*)(const Graph &graph, const onnx::NodeProto &node,
                              int i);

/// A gradient flows to these inputs alone; gradientTo<> is none at all.
template <int... inputs>
bool gradientTo(const Graph &, const onnx::NodeProto &, int i) {
  return ((i == inputs) || ...);
}
/// A gradient flows to all inputs except these.
template <int... inputs>
bool gradientExceptTo(const Graph &, const onnx::NodeProto &, int i) {
  return ((i != inputs) && ...);
}

/// One operator from one operator-set version on: an entry of a table in ops/.
struct OpDef {
  const char *name;
  int since;
  /// Emits nn ops, or sets constants, for each output that is used.
  void (*emit)(Op &);
  /// Computes the outputs from constant inputs; null: never folded.
  void (*fold)(Op &) = nullptr;
  GradientRule carriesGradient = gradientExceptTo<>;
};

/// The newest definition of `name` not newer than `opset`, or null.
const OpDef *findOp(const std::string &name, int64_t opset);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_GRAPH_OPDEF_H
