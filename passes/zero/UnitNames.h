//===- UnitNames.h - which unit a parameter belongs to --------------------===//
//
// The rules of `groupIntoUnits`, apart from the layout of what they group.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_UNITNAMES_H
#define ZEROGRAPH_PASSES_ZERO_UNITNAMES_H

#include "passes/ir/nn/NNDialect.h"

#include <string>
#include <vector>

namespace mlir::zg::zero {

/// A parameter on its way into a unit.
struct Candidate {
  BlockArgument argument;
  Type element; ///< the type that it is computed with
  nn::ParameterAttr parameter;
  /// Tells whether every micro-batch changes it (`nn.next_value`).
  bool local = false;
  int64_t group = 0; // the optimizer's, where it is trained
  enum Kind { kFrozen, kTrainable, kLocal };
  Kind kind() const {
    return local ? kLocal : parameter.getTrainable() ? kTrainable : kFrozen;
  }
  /// Positions of its uses in the program's block.
  SmallVector<int64_t> uses;
  std::string unit;
  std::string reason;

  RankedTensorType type() const {
    return cast<RankedTensorType>(argument.getType());
  }
  StringRef name() const { return parameter.getName().getValue(); }
};

/// Sets `unit` and `reason` of each by the rules of `groupIntoUnits`, for
/// `program`, whose parameters the candidates are, and the option `grouping`.
void nameUnits(std::vector<Candidate> &candidates, nn::ProgramOp program,
               llvm::StringRef grouping);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_UNITNAMES_H
