//===- ScoreRegion.h - how an attention's region computes its scores ------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_SCOREREGION_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_SCOREREGION_H

#include "mlir/IR/IRMapping.h"
#include "passes/ir/nn/NNBuilder.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zg::nn {

/// Copies into the region of an `nn.attention` what a softmax is computed of.
/// All that has as many elements as the scores gets their shape there: a view
/// of what is computed has no address formula, so it is moved to what that is
/// computed of.
class ScoreRegion {
public:
  /// `members` are the ops that the region computes; `shape` is that of the
  /// scores: [batch, heads, queries, keys]. Both must outlive this.
  ScoreRegion(NNBuilder &b, const SetVector<Operation *> &members,
              ArrayRef<int64_t> shape)
      : b(b), members(members), shape(shape) {}

  /// States which argument a value from outside is.
  void setExtra(Value outside, Value argument) {
    copies.map(outside, argument);
  }
  Value extra(Value outside) const { return copies.lookup(outside); }
  /// States what a value is in the scores' shape.
  void setShaped(Value value, Value inside) { known[value] = inside; }

  /// Returns a copy of a value in the scores' shape. It has as many elements.
  Value shaped(Value value);

private:
  Value copied(Value value);
  Value repeated(Value value, ArrayRef<int64_t> wide);

  NNBuilder &b;
  const SetVector<Operation *> &members;
  ArrayRef<int64_t> shape;
  IRMapping copies;
  DenseMap<Value, Value> known;
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_SCOREREGION_H
