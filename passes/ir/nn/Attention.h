//===- Attention.h - the sizes of an attention ----------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_ATTENTION_H
#define ZEROGRAPH_PASSES_IR_NN_ATTENTION_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// The largest size of a head that kernels compute whole.
inline constexpr int64_t kMaxHeadSize = 256;

/// The sizes of an `nn.attention` or of its gradient op.
struct AttentionShape {
  /// Reads them from the types of q, k and v, of rank 4.
  static AttentionShape of(Type q, Type k, Type v);

  int64_t batch, heads, queries, keys;
  /// Heads of keys and values: each serves `group()` heads of queries.
  int64_t keyHeads;
  /// Elements of a query and a key; of a value.
  int64_t size, valueSize;

  int64_t group() const { return heads / keyHeads; }
  /// Returns the shape of the scores: [batch, heads, keys, queries].
  SmallVector<int64_t, 4> scores() const {
    return {batch, heads, keys, queries};
  }
  /// Returns the shape of a bias that all samples have, and of its gradient.
  SmallVector<int64_t, 3> bias() const { return {heads, keys, queries}; }
};

/// The operands that the region of an attention or its gradient op reads, and
/// how many of its arguments come before them.
struct ScoreInputs {
  OperandRange extras;
  unsigned given;
};
ScoreInputs scoreInputsOf(Operation *op);

/// Returns how many values such a region yields before what probabilities are
/// multiplied by, if it yields that.
unsigned scoreYieldsOf(Operation *op);

/// Returns the type in which scores of such operands are computed: f64 of f64,
/// else f32.
Type scoreElement(Type operand);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_ATTENTION_H
