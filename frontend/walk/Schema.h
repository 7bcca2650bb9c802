//===- Schema.h - what ONNX's schemas say of a node -----------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_SCHEMA_H
#define ZEROGRAPH_FRONTEND_WALK_SCHEMA_H

#include "frontend/walk/Op.h"

namespace onnx {
class OpSchema;
}

namespace zerograph::frontend {

/// Returns the schema of a node's operator; null where ONNX has none.
const onnx::OpSchema *schemaOf(const onnx::NodeProto &node, int64_t opset);

/// Throws ImportError unless the operator is supported and has the node's
/// attributes and so many inputs and outputs.
void checkNode(const onnx::NodeProto &node, int64_t opset);

/// Throws ImportError unless each input has a type that the schema allows. So
/// no function in ops/ must check what ONNX promises.
void checkTypes(Op &op);

/// An output of a node, as ONNX infers it.
struct InferredOutput {
  std::string name;
  int32_t type;
  Shape shape;
};

/// Returns the outputs whose shapes ONNX's inference finds; none if it fails.
std::vector<InferredOutput> inferOutputs(Op &op);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_SCHEMA_H
