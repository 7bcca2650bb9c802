//===- TrainedBias.h - a bias of scores that is trained -------------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_TRAINEDBIAS_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_TRAINEDBIAS_H

#include "passes/ir/nn/NNBuilder.h"

#include <string>

namespace mlir::zg::nn {

/// Returns how many samples and heads matrices of this shape are of.
SmallVector<int64_t, 4> leadingOf(ArrayRef<int64_t> shape);

/// Returns whether matrices are the same for all samples: they have a dim of
/// samples, and it is 1.
bool isForAll(Value matrices);

/// A trained value that is added to scores, before the softmax, for all samples
/// alike: its gradient is a sum over them.
class TrainedBias {
public:
  /// Returns whether one was taken.
  explicit operator bool() const { return own != nullptr; }
  /// Takes a value that the scores of `softmax` are made of. What cannot have a
  /// gradient is a problem.
  void take(Value value, SoftmaxOp softmax);
  /// Looks whether its gradient would be slow; called after all are taken.
  void checkBlocks();
  /// Returns why it has no gradient; empty: it has.
  const std::string &problem() const { return trouble; }

  /// Returns what the region has of it: as much for each sample. Null: there is
  /// none.
  Value repeated() const { return wide; }
  /// Returns it as an extra: [heads, keys, queries].
  Value turned(NNBuilder &b) const;
  /// Returns `repeated()` of such an extra as [batch, heads, queries, keys], in
  /// a region whose scores are [batch, heads, keys, queries].
  Value repeat(NNBuilder &b, Value extra, ArrayRef<int64_t> scores) const;

private:
  Value own, wide;
  std::string trouble;
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_TRAINEDBIAS_H
