//===- EqualBlocks.h - models of fewer layers -----------------------------===//
//
// The layers of most models do the same with parameters of their own. A model
// that keeps few of them compiles in a fraction of the time, and what its plan
// needs tells what that of the whole model does (see tools/advise/Estimate.h).
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_EQUALBLOCKS_H
#define ZEROGRAPH_TOOLS_COMPILER_EQUALBLOCKS_H

#include "passes/ir/nn/NNDialect.h"

#include <cstddef>
#include <vector>

namespace zerograph {

/// A run of equal blocks among the operations of a program, which are counted
/// from 0 in order: each block has the same operations with the same attributes
/// and types. Operands are of the same place in the block itself or the one
/// before it, or come from before the run: parameters of each block's own, or
/// values that all share.
struct EqualBlocks {
  size_t begin = 0;  ///< of the first block
  size_t length = 0; ///< operations of a block
  size_t count = 0;  ///< blocks; 0: there are none

  size_t end() const { return begin + length * count; }
};

/// Finds the run of at least three blocks that has the most operations.
EqualBlocks findEqualBlocks(mlir::zg::nn::ProgramOp program);

/// Removes all of the blocks but the first `kept`, and the parameters and
/// results that only the others had; what read the last of them reads the last
/// that stays. Returns how many blocks there were. Nothing is changed where
/// that is at most `kept`, or 0: no run was found, or an operation after it
/// reads a block in its middle.
size_t keepBlocks(mlir::zg::nn::ProgramOp program, size_t kept);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_EQUALBLOCKS_H
