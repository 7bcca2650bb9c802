//===- AttentionLoops.h - how scores and probabilities are computed -------===//
//
// A device computes a block of queries by a block of keys at a time, kBlock of
// each. Every device has the same bits, unless it multiplies 16 bits
// (codegen/cuda/forms/TensorAttention.h, and MatrixRegisters.h and
// PairsOfBf16.h in codegen/host/forms/):
//
// - An element of a product is a chain of fma: of scores along the size of the
//   heads, else along the keys or the queries, in ascending order.
// - The sum of a query's exponentials is that of a row (RowLoops): key j is in
//   the chain j mod nn::kRowChains, and there are segments.
// - The gradient of a bias is a sum over samples, in the order of a sum of rows
//   (ColumnLoops): within blocks of nn::kRowBlock, then the blocks' sums.
//
// A device skips blocks in which a mask by position leaves nothing: they would
// add zero. If data mask all keys that such a mask leaves to a query, a finite
// mask gives every key the same probability, so that query sees all blocks.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_ATTENTIONLOOPS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_ATTENTIONLOOPS_H

#include "codegen/emit/Body.h"
#include "codegen/emit/loops/ScoreWindow.h"
#include "codegen/emit/loops/StoredResults.h"
#include "passes/ir/nn/Attention.h"
#include "passes/ir/nn/Numerics.h"

#include <limits>
#include <optional>

namespace mlir::zg::emit {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Has the tree of an operand, over its rows by its last dimension.
struct AttentionOperand {
  std::optional<Graph> graph;
  Node *node = nullptr;

  LogicalResult find(Value value);
  /// Returns the node of what is stored, before it becomes f32, if that has 16
  /// bits; else null.
  Node *stored() const;
};

/// Emits the values of an operand, in the function of `other`.
struct OperandReader {
  OperandReader(const Body &other, AttentionOperand &operand, int64_t width)
      : node(operand.node), body(other, *operand.graph, width) {
    body.enterKernel();
  }

  Node *node;
  Body body;
};

/// Describes a kernel of attention or of its gradient. Nodes are those of its
/// graphs, which stay where they are.
struct AttentionLoops {
  /// Counts the queries of a block, and the keys: as many as a row has chains.
  static constexpr int64_t kBlock = nn::kRowChains;

  nn::AttentionShape shape;
  /// Is f32 or f64; everything is computed in it.
  Type element;
  /// Is null in a kernel of the gradient.
  nn::AttentionOp forward;
  /// Has an entry for each result of the op.
  SmallVector<StoredResult> stored;

  /// Have a row for each sample, query or key, and head.
  AttentionOperand q, k, v, dout;
  /// Have a row for each sample and head; its columns are queries.
  AttentionOperand max, inverse, delta;
  /// Has a row for each sample, head and key; its columns are queries.
  std::optional<Graph> scores;
  /// Are given by the device: a product of a query and a key, and the gradient
  /// of x.
  Node *score = nullptr, *gradient = nullptr;
  /// Are computed of them: the operand of the softmax, and the gradient of the
  /// score.
  Node *x = nullptr, *ofScore = nullptr;
  /// Is the gradient of a bias, of one sample; null: no bias has one.
  Node *ofBias = nullptr;
  /// Multiplies probabilities; null: nothing does.
  Node *factor = nullptr;
  ScoreWindow window;

  /// Finds all of these in a kernel; called once. An error names the op that
  /// cannot be in the kernel.
  LogicalResult find(nn::KernelOp kernel);

  bool isGradient() const { return !forward; }
  /// Returns the type of 16 bits that q, k, v and dout have where they are
  /// stored; null if they have none, or several.
  Type storedElement() const;
  /// Returns how many blocks a head has.
  int64_t queryBlocks() const;
  int64_t keyBlocks() const;
  /// Returns how many scores are in blocks that the window leaves, of all
  /// heads.
  int64_t seenScores() const;
  /// Returns whether the gradients of the queries that share keys take so few
  /// bytes that a thread of the host can hold them. Then a call that has all of
  /// a head makes its scores and probabilities once instead of twice. The bits
  /// are the same.
  bool holdsHeads() const;
  /// Returns how often each score is made. `wholeHeads`: the device computes a
  /// head as a whole where a call has all of it, which is assumed of kernels
  /// with eight heads or more.
  int64_t timesScored(bool wholeHeads) const;
  /// Returns how many blocks a launch computes: of the queries of all heads
  /// and, in a kernel of the gradient, of the keys of all heads, and of the
  /// gradient of a bias.
  int64_t items() const;

  /// Returns the number of the head and the first query or key of block `item`,
  /// where a head has so many blocks.
  static std::pair<Value, Value> placeOf(Lanes &lanes, Value item,
                                         int64_t blocks);
  /// Emits an item of the gradient: queries(head, first query), keys(head of
  /// keys, first key), or bias(head of each sample, first query, first key).
  void forItem(Body &body, Value item,
               llvm::function_ref<void(Value, Value)> queries,
               llvm::function_ref<void(Value, Value)> keys,
               llvm::function_ref<void(Value, Value, Value)> bias) const;
  /// Emits block `number` of the gradient of a bias: bias(head of each sample,
  /// first query, first key).
  void forBiasBlock(Lanes &lanes, Value number,
                    llvm::function_ref<void(Value, Value, Value)> bias) const;
  /// Returns how many heads of keys all samples have.
  int64_t allKeyHeads() const { return shape.batch * shape.keyHeads; }
  /// Returns the rows of a block of queries, of a head of all samples', or of
  /// the keys that this head has.
  OperandRows queriesFrom(Lanes &lanes, Value head, Value first) const;
  OperandRows keysFrom(Lanes &lanes, Value head, Value first) const;
  /// Returns the rows that a head of each sample has in the gradient of the
  /// bias, from a key on.
  OperandRows biasFrom(Lanes &lanes, Value head, Value firstKey) const;

  /// Returns whether some query of a block, of which `least` is the least
  /// maximum, sees nothing but masked keys.
  Value isMasked(Lanes &lanes, Value least) const;
  /// Returns 0 where `tested` is `number`, else `otherwise`.
  static Value zeroIfEqual(Lanes &lanes, Value tested, double number,
                           Value otherwise);

  /// Gives a chunk what is known of all scores that the window leaves.
  void assumeLeft(Lanes &lanes, Chunk &chunk) const;
  /// Returns x of the scores of a chunk, in the row that `body` has entered.
  Value emitScores(Body &body, Chunk &chunk, Value score) const;
  /// Returns `value` times the factor of probabilities, of the same chunk.
  Value emitWeighed(Body &body, Chunk &chunk, Value value) const;
  /// Returns the gradient of the scores, or of the bias, from that of x, of the
  /// same chunk; called after emitScores.
  Value emitGradient(Body &body, Chunk &chunk, Value gradient,
                     bool isOfBias = false) const;
  /// Returns sums over all samples, in the order that is said above: add(head,
  /// sums) adds what a sample's head `head` has. They begin with `zeros`.
  SmallVector<Value> addSamples(
      Body &body, Value head, ValueRange zeros,
      llvm::function_ref<SmallVector<Value>(Value, ValueRange)> add) const;
  /// Returns the sums of two lists, number by number.
  static SmallVector<Value> added(Lanes &lanes, ValueRange left,
                                  ValueRange right);
  /// Returns whether some query in [query, query + kBlock) sees a key in [key,
  /// key + kBlock): by the window, or because all() says that all keys are
  /// seen. Returns null if the window leaves all keys.
  Value sees(Lanes &lanes, Value query, Value key,
             llvm::function_ref<Value()> all) const;
  /// Returns the first block that the window leaves, and the one after the
  /// last: of keys, for the queries from `query` on, and of queries, for the
  /// keys from `key` on.
  std::pair<Value, Value> keyBlocksOf(Lanes &lanes, Value query) const;
  std::pair<Value, Value> queryBlocksOf(Lanes &lanes, Value key) const;
  /// Returns whether the window leaves `keys` keys from `key` on to `queries`
  /// queries from `query` on; null if there is no window.
  Value leavesAll(Lanes &lanes, Value query, Value key, int64_t queries,
                  int64_t keys) const;
  /// Returns whether all keys that the window leaves to some query may be
  /// masked: by data, or because it leaves none.
  bool mayMaskAll() const;
  /// Returns the sum of the chains of a row, in their order.
  static Value foldChains(Lanes &lanes,
                          llvm::function_ref<Value(int64_t)> chain);

private:
  static std::pair<Value, Value> blocksOf(Lanes &lanes, Value first,
                                          std::optional<int64_t> before,
                                          std::optional<int64_t> after,
                                          int64_t blocks);
  OperandRows rowsFrom(Lanes &lanes, Value first, int64_t each, Value number,
                       int64_t heads) const;
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_ATTENTIONLOOPS_H
