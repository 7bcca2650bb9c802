//===- AttentionLoops.h - how scores and probabilities are computed -------===//
//
// A device computes a block of queries by a block of keys at a time, kBlock of
// each. What decides the bits is the same for all:
//
// - An element of a product is a chain of fma: of scores along the size of the
//   heads, else along the keys or the queries, in ascending order.
// - The sum of a query's exponentials is that of a row (RowLoops): key j is in
//   the chain j mod nn::kRowChains, and there are segments.
//
// Blocks that a mask leaves nothing of by its structure are skipped: what they
// add is zero. Where all that a query sees is masked by data, a finite mask
// gives every key the same probability, so such a query sees all blocks.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_ATTENTIONLOOPS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_ATTENTIONLOOPS_H

#include "codegen/emit/Body.h"
#include "codegen/emit/loops/ScoreWindow.h"
#include "passes/ir/nn/Attention.h"
#include "passes/ir/nn/Numerics.h"

#include <optional>

namespace mlir::zg::emit {

/// An operand as it is read: its own rows by its last dimension.
struct AttentionOperand {
  std::optional<Graph> graph;
  Node *node = nullptr;

  LogicalResult find(Value value);
};

/// Rows of an operand or a result: `count` of them from `first` on, `step`
/// apart.
struct OperandRows {
  Value first;
  int64_t step = 1;
  Value count;
};

/// A kernel of attention or of its gradient. Nodes are those of its graphs,
/// which stay where they are.
struct AttentionLoops {
  /// Queries and keys of a block: as many keys as a row has chains.
  static constexpr int64_t kBlock = nn::kRowChains;

  nn::AttentionShape shape;
  /// Everything is computed in it: f32 or f64.
  Type element;
  /// Null in a kernel of the gradient.
  nn::AttentionOp forward;
  nn::YieldOp yield;

  /// Rows [batch, queries or keys, heads of these] by the size of a head.
  AttentionOperand q, k, v, dout;
  /// Rows [batch, heads] by queries.
  AttentionOperand max, inverse, delta;
  /// Rows [batch, heads, keys] by queries: what is given, and what becomes of
  /// it.
  std::optional<Graph> scores;
  Node *score = nullptr, *gradient = nullptr;
  Node *x = nullptr, *ofScore = nullptr;
  /// Multiplies probabilities; null: nothing does.
  Node *factor = nullptr;
  ScoreWindow window;

  /// Once. An error names the op that cannot be in the kernel.
  LogicalResult find(nn::KernelOp kernel);

  bool isGradient() const { return !forward; }
  /// Blocks of a head.
  int64_t queryBlocks() const;
  int64_t keyBlocks() const;
  /// Returns how many scores are in blocks that the window leaves, of all
  /// heads.
  int64_t seenScores() const;
  /// Blocks of queries, or of keys, of all heads; what a launch computes.
  int64_t allQueryBlocks() const;
  int64_t allKeyBlocks() const;
  int64_t items() const;

  /// Returns the rows of a block of queries, of a head of all samples', or of
  /// the keys that this head has.
  OperandRows queriesFrom(Lanes &lanes, Value head, Value first) const;
  OperandRows keysFrom(Lanes &lanes, Value head, Value first) const;

  /// Returns whether some query of a block, of which `least` is the least
  /// maximum, sees nothing but masked keys.
  Value isMasked(Lanes &lanes, Value least) const;
  /// Returns 0 where `tested` is `number`.
  static Value zeroIfEqual(Lanes &lanes, Value tested, double number,
                           Value otherwise);

  /// Returns what becomes of scores, of the row that `body` has entered.
  Value emitScores(Body &body, Chunk &chunk, Value score) const;
  /// Returns what is multiplied by a probability, or a sum of products with
  /// one, of the same chunk.
  Value emitWeighed(Body &body, Chunk &chunk, Value value) const;
  /// Returns the gradient of the scores from that of what becomes of them, of
  /// the same chunk after emitScores.
  Value emitGradient(Body &body, Chunk &chunk, Value gradient) const;
  /// Returns whether, by the window, some query in [query, query + kBlock) sees
  /// a key in [key, key + kBlock); null: it always does.
  Value sees(Lanes &lanes, Value query, Value key) const;
  /// Returns the sum of the chains of a row, in their order.
  static Value foldChains(Lanes &lanes,
                          llvm::function_ref<Value(int64_t)> chain);
  /// Returns a value as the kernel's result `number` stores it.
  Value emitResult(Lanes &lanes, unsigned number, Value value) const;

private:
  OperandRows rowsFrom(Lanes &lanes, Value first, int64_t each, Value number,
                       int64_t heads) const;
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_ATTENTIONLOOPS_H
