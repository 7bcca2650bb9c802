//===- Cost.h - what a launch of a kernel costs ---------------------------===//
//
// A kernel's op tree tells which bytes a launch touches and how often it
// computes. Memory traffic is counted, not instructions:
//
// - Elements that a launch reads or writes count once, however many threads do
//   so, and only those: a view of a third of a tensor is a third of its bytes.
//   Views of one operand that share some elements count as if they were apart,
//   up to the whole operand. A gather counts each row that it chooses, as the
//   indices are not known, up to the whole table.
// - A row stays in a cache from one sweep to the next where what a sweep reads
//   has at most kCachedRow bytes a row. What longer rows read counts once a
//   sweep.
// - A scatter sets the whole table and then changes a row for each update. One
//   that adds reads that row too, which counts as written.
// - Attention: what a block of queries, or of keys, reads again of its head is
//   in a cache. Blocks that the mask leaves nothing of by its structure count
//   nothing. The scores are multiplied once in forward, twice in backward;
//   a device adds the products that its blocks repeat besides.
// - A value that several sweeps use counts once in rows of at most
//   nn::kRowSegment columns, as if every device kept it, which they do as far
//   as registers or the stack suffice; in longer rows it counts once a sweep.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_COST_H
#define ZEROGRAPH_CODEGEN_EMIT_COST_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::emit {

/// The most bytes of a row that stay in a cache: a GPU and a processor have a
/// few hundred KiB for each row that is computed at a time.
inline constexpr int64_t kCachedRow = 256 << 10;

/// The bytes that a launch moves of an operand or a result.
struct OperandCost {
  int64_t moved = 0;      ///< bytes
  int64_t movedApart = 0; ///< of these, where no result lies on the operand
  /// Bytes of the widest access, up to kWidestAccess, that every row which is
  /// read or written side by side is aligned to; 0: there is none.
  int64_t width = 0;
};
inline constexpr int64_t kWidestAccess = 16;

/// Counts what a launch computes in one type.
struct OperationCount {
  int64_t simple = 0, special = 0, multiplyAdds = 0;
};

struct KernelCost {
  /// The operands, then the results.
  SmallVector<OperandCost> operands;
  int64_t elements = 0; ///< of the domain
  OperationCount f32, f64, integers;
};

/// Returns the cost of a launch of a kernel. Fails where no code can be
/// generated for it either, on the op that cannot be in it. See
/// AttentionLoops::timesScored for `wholeHeads`.
FailureOr<KernelCost> costOf(nn::KernelOp kernel, bool wholeHeads);

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_COST_H
