//===- ForwardRegions.h - the forward pass, cut by blocks -----------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_FORWARDREGIONS_H
#define ZEROGRAPH_PASSES_ZERO_FORWARDREGIONS_H

#include "passes/ir/nn/LiteralValues.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/zero/UnitStates.h"

#include <optional>
#include <vector>

namespace mlir::zg::zero {

/// A run of forward ops, in order: from the first use of a block's parameters
/// to that of another block's. Cheap ops before it are among them if they are
/// made of what it reads in any case, or can read instead, and nothing else of
/// the forward pass reads what they make. A norm written as a chain of ops
/// begins so.
struct ForwardRegion {
  int64_t unit; ///< whose parameters are used first
  SmallVector<Operation *> ops;
};

/// The forward pass of a program that trains, cut into regions, as it was when
/// this was made: ops that are inserted later are of neither pass. The program
/// and `states` must outlive it.
class ForwardRegions {
public:
  ForwardRegions(nn::ProgramOp program, const UnitStates &states);

  /// Returns the regions. Ops before the first use of a parameter are in none.
  ArrayRef<ForwardRegion> all() const { return regions; }
  size_t size() const { return regions.size(); }

  /// Returns the region of an op; nothing if it is in none, or null.
  std::optional<size_t> of(Operation *op) const;
  bool isOfForward(Operation *op) const {
    return positions.contains(op) && !backward.contains(op);
  }
  bool isOfBackward(Operation *op) const { return backward.contains(op); }
  /// Returns the op with which backward begins; null where there is none.
  Operation *firstOfBackward() const { return first; }
  /// Returns where an op stands; 0 if it was inserted later.
  int64_t position(Operation *op) const { return positions.lookup(op); }

  /// Returns the unit whose whole parameters the value is.
  std::optional<int64_t> unitOf(Value value) const;
  bool isLiteral(Value value) const { return literals.contains(value); }
  /// Returns whether another region reads the value, or it is of none.
  bool isKept(Value value) const;

  /// Returns the first of the views of parameters before the op, else the op.
  /// They stand right before the op that reads them, so that a gather stands
  /// before the first of them. A view that was inserted for another operand of
  /// the op is not among them.
  Operation *beforeViews(Operation *op) const;

private:
  void collect(Block &block);
  bool entersRegion(Operation &op) const;
  void moveToNext(size_t index);
  bool isReadByBackward(Value value) const;
  Value origin(Value kept, size_t index) const;
  DenseSet<Operation *> movable(size_t index) const;

  const UnitStates &states;
  const nn::LiteralValues literals;
  Operation *first = nullptr;
  DenseMap<Value, int64_t> units; ///< by whole parameters
  DenseMap<Operation *, int64_t> positions;
  DenseSet<Operation *> backward;
  std::vector<ForwardRegion> regions;
  DenseMap<Operation *, size_t> regionOf;
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_FORWARDREGIONS_H
