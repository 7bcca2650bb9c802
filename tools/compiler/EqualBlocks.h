//===- EqualBlocks.h - models of fewer layers -----------------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_EQUALBLOCKS_H
#define ZEROGRAPH_TOOLS_COMPILER_EQUALBLOCKS_H

#include "passes/ir/nn/NNDialect.h"

#include <cstddef>
#include <vector>

namespace zerograph {

/// A run of equal blocks among the operations of a program, which are counted
/// from 0 in order: each block has the same operations with the same attributes
/// and types. An operand is of the same place in the block itself or the one
/// before it, or comes from before the run. There all blocks read the same, or
/// each something else of the same kind, as a parameter of its own.
struct EqualBlocks {
  size_t begin = 0;  ///< of the first block
  size_t length = 0; ///< operations of a block
  size_t count = 0;  ///< blocks; 0: there are none

  size_t size() const { return length * count; }
  size_t end() const { return begin + size(); }
};

/// Finds the run of at least three blocks that has the most operations.
EqualBlocks findEqualBlocks(mlir::zg::nn::ProgramOp program);

/// Removes all of the blocks but the first `kept`, and the parameters and
/// results that only the others had; what read the last of them reads the last
/// that stays. Returns how many blocks there were. Changes nothing where that
/// is at most `kept`, or 0: no run was found, or an operation after it reads
/// one that is not in its last block.
size_t keepBlocks(mlir::zg::nn::ProgramOp program, size_t kept);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_EQUALBLOCKS_H
