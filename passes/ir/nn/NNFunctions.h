//===- NNFunctions.h - what is known of each elementwise function ---------===//
//
// The tables are made from the cases in NNEnums.td.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_NNFUNCTIONS_H
#define ZEROGRAPH_PASSES_IR_NN_NNFUNCTIONS_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// Elements that a function takes. Numbers: floats and integers, but not i1.
enum class Takes { Floats, Numbers, Bools };

struct FunctionFacts {
  uint8_t kind;
  Takes takes;
  /// Costs so much more than a load that nothing should compute it again.
  bool isCostly;
  /// Gives i1, and not what it takes.
  bool isTest;

  bool accepts(Type element) const;
};

const FunctionFacts &factsOf(UnaryKind kind);
const FunctionFacts &factsOf(BinaryKind kind);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_NNFUNCTIONS_H
