//===- DifferentiatedAttention.h - attention and its gradient -------------===//

#ifndef ZEROGRAPH_TESTS_CODEGEN_DIFFERENTIATEDATTENTION_H
#define ZEROGRAPH_TESTS_CODEGEN_DIFFERENTIATEDATTENTION_H

#include "passes/ir/nn/NNBuilder.h"
#include "tests/support/AttentionCase.h"
#include "tests/support/Program.h"

namespace mlir::zg::testing {

/// Puts gradients side by side.
using Pack = Value (*)(nn::NNBuilder &, ArrayRef<Value>);

/// Puts them so in rows, as a split of a product's columns has them.
Value packRows(nn::NNBuilder &b, ArrayRef<Value> gradients);
/// Puts them so within each head, as GPT-NeoX has them.
Value packHeads(nn::NNBuilder &b, ArrayRef<Value> gradients);
/// Puts them so in a dimension of their own, which a permutation moves, as
/// vision transformers have them.
Value packPermuted(nn::NNBuilder &b, ArrayRef<Value> gradients);
/// Puts them so where samples follow each other within a place of the sequence,
/// as PyTorch's MultiheadAttention has them.
Value packSequence(nn::NNBuilder &b, ArrayRef<Value> gradients);

/// A program of an attention and its gradient, which returns out, max, inverse,
/// dq, dk, dv and the gradient of a bias of q, k, v, dout and what the scores
/// are made of besides. `packed`: those of as many of q, k and v, the last
/// ones, are put side by side by `pack`.
class Differentiated {
public:
  explicit Differentiated(const AttentionCase &attention, unsigned packed = 0,
                          Pack pack = packRows);

  nn::ProgramOp function() { return program.function("f"); }
  void run(std::unique_ptr<Pass> pass);

private:
  /// Adds the gradient also of a bias, the last operand.
  void addGradient(nn::AttentionOp op, bool hasBias);

  Program program;
  unsigned packed;
  Pack pack;
};

/// Makes kernels of a program: of attention whole, or of what it decomposes to.
void formKernels(Differentiated &program, bool whole);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_CODEGEN_DIFFERENTIATEDATTENTION_H
