//===- Reading.h - whether a kernel can read a value through views --------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_READING_H
#define ZEROGRAPH_PASSES_KERNELS_READING_H

#include "passes/kernels/Members.h"
#include "passes/kernels/View.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zg::kernels {

/// The inputs that a kernel takes from outside: the values it reads from
/// buffers, and the ops that it computes again, at their own shapes. A value
/// that is neither is a view, an expression of constants, or a member.
struct Inputs {
  llvm::SetVector<Value> leaves;
  llvm::SetVector<Operation *> recomputed;
};

/// Returns whether each element of `value` has an address formula in every leaf
/// when its elements are counted by `shape` (by its own if none). `onLeaf` is
/// given the view of each leaf.
bool isReadable(Value value, const Inputs &inputs,
                std::optional<ArrayRef<int64_t>> shape = std::nullopt,
                llvm::function_ref<void(const View &)> onLeaf = nullptr);

/// The greatest number of elements that divides every run in which a leaf is
/// read at one stride. A value that no formula reaches sets no limit: it is
/// copied whatever the rows are.
int64_t evenRunOf(Value value, const Inputs &inputs);

} // namespace mlir::zg::kernels

#endif // ZEROGRAPH_PASSES_KERNELS_READING_H
