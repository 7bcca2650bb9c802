//===- Reduce.cpp - reductions of one group of dimensions -----------------===//

#include "passes/kernels/decompose/Decomposition.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// A run of neighbouring dimensions that are all reduced or all kept.
struct Group {
  int64_t size;
  bool reduced;
};

SmallVector<Group> groupDims(ReduceOp op) {
  SmallVector<Group> groups;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
    bool reduced = llvm::is_contained(op.getDims(), static_cast<int64_t>(dim));
    if (size == 1) {
      continue;
    }
    if (!groups.empty() && groups.back().reduced == reduced) {
      groups.back().size *= size;
    } else {
      groups.push_back({size, reduced});
    }
  }
  return groups;
}

/// Reduces the last reduced group of `x`, whose elements are those of `groups`
/// in row-major order, and drops it from the list.
Value reduceLastGroup(NNBuilder &b, ReduceKind kind, Value x,
                      SmallVector<Group> &groups) {
  auto last = std::prev(groups.end());
  while (!last->reduced) {
    --last;
  }
  int64_t outer = 1, inner = 1;
  for (auto it = groups.begin(); it != last; ++it) {
    outer *= it->size;
  }
  for (auto it = std::next(last); it != groups.end(); ++it) {
    inner *= it->size;
  }
  int64_t size = last->size;
  groups.erase(last);
  if (inner == 1) {
    return b.reduce(kind, b.reshape(x, {outer, size}), {1});
  }
  if (outer == 1) {
    return b.reduce(kind, b.reshape(x, {size, inner}), {0});
  }
  return b.reduce(kind, b.reshape(x, {outer, size, inner}), {1});
}

bool isCanonical(ReduceOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand()), dims = op.getDims();
  if (dims.size() != 1) {
    return false;
  }
  return (shape.size() == 2 && (dims[0] == 1 || shape[1] != 1)) ||
         (shape.size() == 3 && dims[0] == 1 && shape[0] != 1 && shape[2] != 1);
}

Replacement reduce(ReduceOp op, NNBuilder &b) {
  if (isCanonical(op)) {
    return {};
  }
  SmallVector<Group> groups = groupDims(op);
  Value x = op.getOperand();
  while (llvm::any_of(groups, [](Group group) { return group.reduced; })) {
    x = reduceLastGroup(b, op.getKind(), x, groups);
  }
  return {b.reshape(x, shapeOf(op))};
}

} // namespace

void mlir::zg::nn::addReduceDecompositions(RewritePatternSet &patterns,
                                           const TargetInfo &target) {
  addDecomposition<ReduceOp, reduce>(patterns, target);
}
