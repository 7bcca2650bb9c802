//===- UnitPlaces.h - where in the user's code a unit is used -------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_UNITPLACES_H
#define ZEROGRAPH_PASSES_ZERO_UNITPLACES_H

#include "passes/ir/nn/Locations.h"
#include "passes/zero/UnitNames.h"

namespace mlir::zg::zero {

/// Finds places of units by the code places of a program's ops, which it reads
/// once.
class UnitPlaces {
public:
  explicit UnitPlaces(nn::ProgramOp program);

  /// Returns where the unit of these parameters is in the user's code, as far
  /// as its name does not say so: "modeling_llama.py:300" for "layers.1",
  /// "layers (modeling_llama.py:380)" for "group.0". The module is the
  /// innermost that all the parameters are in; the line is that of the module's
  /// first op that has one. Returns null where there is nothing to add.
  StringAttr beside(StringRef name, ArrayRef<Candidate *> members) const;

private:
  llvm::StringMap<nn::CodePlace> first; ///< by module
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_UNITPLACES_H
