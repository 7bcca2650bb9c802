//===- UnitStates.h - the units of a module and who holds what of them ----===//

#ifndef ZEROGRAPH_PASSES_ZERO_UNITSTATES_H
#define ZEROGRAPH_PASSES_ZERO_UNITSTATES_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/ir/zero/ZeroDialect.h"

namespace mlir::zg::zero {

/// The units that `zero-layout` has declared, as the passes after it ask for
/// them.
class UnitStates {
public:
  /// Fails, with a diagnostic, where the module has no units.
  static FailureOr<UnitStates> of(ModuleOp module);

  int64_t size() const { return units.size(); }
  ParamUnitAttr operator[](int64_t unit) const { return units[unit]; }
  int64_t segments(int64_t unit) const {
    return units[unit].getSegments().size();
  }
  StringRef name(int64_t unit) const {
    return units[unit].getName().getValue();
  }
  /// Returns the block of parameters that the unit is, or is a part of.
  StringRef block(int64_t unit) const { return units[unit].blockName(); }
  /// Returns the optimizer's group that the unit's parameters are of.
  int64_t group(int64_t unit) const {
    return units[unit].getPlacements().front().getGroup();
  }
  /// Returns the location of ops that are about the unit, in a program at
  /// `program`.
  Location location(int64_t unit, Location program) const {
    return units[unit].location(program);
  }
  /// Return the axes that the units are spread over, and the ranks along them.
  ArrayAttr axes(int64_t unit) const { return units[unit].getAxes(); }
  int64_t ranks(int64_t unit) const;
  /// Returns the ranks of the mesh.
  int64_t ranks() const { return mesh.ranks(); }

  /// Return whether a rank keeps only its shards: of the parameters between
  /// programs, of the gradients from their reduction to the update, and of what
  /// the update works on.
  bool shardsParameters(int64_t unit) const;
  bool shardsGradients(int64_t unit) const;
  /// Returns whether a rank adds up whole gradients of its own, which are
  /// reduced once a step.
  bool reducesLast(int64_t unit) const;
  bool shardsUpdate(int64_t unit) const;

  /// Returns what the unit declares of a state; null where it keeps none.
  UnitStateAttr declared(int64_t unit, StringRef role) const;
  /// Returns whether any state lies in memory of the host.
  bool anyOnHost() const;
  /// Declares a state, on the module too.
  void declare(int64_t unit, StringRef role, Type type, bool sharded,
               Space space = Space::device);
  /// Says where a declared state lies.
  void declareSpace(int64_t unit, StringRef role, Space space);
  /// Declares that no state is sharded.
  void declareWhole();

  /// Return names of states, and the types of those that are declared.
  StateAttr whole(int64_t unit, StringRef role) const;
  StateAttr shard(int64_t unit, int64_t segment, StringRef role) const;
  RankedTensorType wholeType(int64_t unit, StringRef role) const;
  RankedTensorType shardType(int64_t unit, int64_t segment,
                             StringRef role) const;
  /// Returns the type in which a unit's gradients are sent: f32 is rounded to
  /// `precision`, an option's fp32, bf16 or fp16.
  RankedTensorType sentType(int64_t unit, StringRef precision) const;

private:
  explicit UnitStates(ModuleOp module);
  void change(int64_t unit, function_ref<UnitStateAttr(UnitStateAttr)> changed);
  void replace(int64_t unit, ArrayRef<UnitStateAttr> states);

  ModuleOp module;
  SmallVector<ParamUnitAttr> units;
  MeshAttr mesh;
  int64_t stage;
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_UNITSTATES_H
