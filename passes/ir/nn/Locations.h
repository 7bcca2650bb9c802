//===- Locations.h - the ONNX node an op came from, and its code ----------===//
//
// An op's location is a NameLoc with the name of the ONNX node that it came
// from. Where the file says who made the node, the place in the user's code is
// its child:
//
//   loc("node_mul_411"(fused<"layers.1.mlp">["modeling_llama.py":176:0]))
//
// Ops of the backward graph have the forward op's location as a child, kernels
// those of all that they compute, fused.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_LOCATIONS_H
#define ZEROGRAPH_PASSES_IR_NN_LOCATIONS_H

#include "mlir/IR/Operation.h"

#include <string>

namespace mlir::zg::nn {

/// A place in the code that a model was exported from.
struct CodePlace {
  std::string module; ///< path of a module: "layers.1.mlp"; or empty
  std::string file;   ///< without its folder; empty: unknown
  unsigned line = 0;

  bool known() const { return !module.empty() || !file.empty(); }
};

/// The end of the names of ops of the backward graph.
inline constexpr llvm::StringLiteral kGradientSuffix = ".gradient";

/// Returns the op with which backward begins: the first that stands after
/// `loss` or computes gradients, as a part of a kernel perhaps. Tiles of rows
/// compute gradients before the loss of all rows is known. Null: there is none.
Operation *firstOfBackward(Block &block, Operation *loss);

/// The location of a node of this name, which was made there.
Location locationOf(MLIRContext *context, StringRef name,
                    const CodePlace &place);

/// The place that the location names; of a kernel, the first one. Where nothing
/// says it, the place is not known.
CodePlace codePlaceOf(Location location);

/// "layers.1.mlp (modeling_llama.py:176)", "modeling_llama.py:176" or
/// "layers.1.mlp"; empty where the place is not known.
std::string describe(const CodePlace &place);
std::string placeOf(Location location);

/// `nameOf` (NNDialect.h) and `placeOf` for people: "node_mul_411 in
/// layers.1.mlp (modeling_llama.py:176)"; the name alone where the place is not
/// known.
std::string describe(Location location);
/// The same for what has a label of its own.
std::string describe(StringRef label, Location location);

/// Returns "node 'node_mul_411' (nn.binary)".
std::string describe(Operation *op);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_LOCATIONS_H
