//===- FxCall.h - the call that a node was made from ----------------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_FXCALL_H
#define ZEROGRAPH_FRONTEND_EXPORTER_FXCALL_H

#include "onnx/onnx_pb.h"

#include <string>
#include <vector>

namespace zerograph::frontend {

/// The call of PyTorch that a node was made from, as torch.fx writes it.
struct FxCall {
  std::string target;                 ///< "aten.embedding.default"
  std::vector<std::string> arguments; ///< by position: "%ids", "1", "[0, 1]"

  /// Returns whether it calls this operator of aten, in any overload.
  bool isOf(const std::string &name) const;
  /// Argument i as a number; `otherwise` if there is none, or if it is not one.
  int64_t number(size_t i, int64_t otherwise) const;
  /// Returns whether argument i is given and true.
  bool isTrue(size_t i) const;
};

/// Returns the call that the newer exporter wrote into the node, else an empty
/// one.
FxCall fxCallOf(const onnx::NodeProto &node);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_FXCALL_H
