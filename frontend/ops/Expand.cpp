//===- Expand.cpp - transpositions and repetitions ------------------------===//

#include "frontend/ops/Ops.h"

#include <algorithm>
#include <numeric>

using mlir::Value;

namespace zerograph::frontend {

namespace {

std::vector<int64_t> permutation(Op &op) {
  int64_t rank = op.shape(0).size();
  std::vector<int64_t> order = op.intsAttribute("perm");
  if (!op.hasAttribute("perm")) {
    for (int64_t i = rank; i-- > 0;) {
      order.push_back(i);
    }
  }
  std::vector<int64_t> sorted = order, all(rank);
  std::iota(all.begin(), all.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  if (sorted != all) {
    fail("perm is not a permutation of ", rank, " dimensions");
  }
  return order;
}

void emitTranspose(Op &op) {
  op.set(0, op.emit.transpose(op.value(0), permutation(op)));
}

void foldTranspose(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  std::vector<int64_t> from = rowMajor(x.shape()), strides;
  Shape shape;
  for (int64_t dim : permutation(op)) {
    shape.push_back(x.shape()[dim]);
    strides.push_back(from[dim]);
  }
  op.set(0, remap(x, shape, 0, strides));
}

Shape expandShape(Op &op) {
  Shape shape = op.constantInts(1, "shape");
  elementCount(shape);
  return broadcastShapes(op.shape(0), shape);
}

void emitExpand(Op &op) {
  op.set(0, op.emit.broadcastTo(op.value(0), expandShape(op)));
}

void foldExpand(Op &op) {
  op.set(0, broadcastTo(op.constant(0, "operand"), expandShape(op)));
}

/// A Tile is a broadcast of [1, d0, 1, d1, ...] to [r0, d0, r1, d1, ...].
struct Tiling {
  Shape split, repeated, result;
};

Tiling tilingOf(Op &op) {
  Shape shape = op.shape(0);
  std::vector<int64_t> repeats = op.constantInts(1, "repeats");
  if (repeats.size() != shape.size()) {
    fail("there are ", repeats.size(), " repeats for ", shape.size(),
         " dimensions");
  }
  Tiling tiling;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t size;
    if (repeats[i] < 0 || __builtin_mul_overflow(shape[i], repeats[i], &size)) {
      fail("repeats has the entry ", repeats[i]);
    }
    tiling.split.insert(tiling.split.end(), {1, shape[i]});
    tiling.repeated.insert(tiling.repeated.end(), {repeats[i], shape[i]});
    tiling.result.push_back(size);
  }
  return tiling;
}

void emitTile(Op &op) {
  Tiling tiling = tilingOf(op);
  Value x = op.emit.reshape(op.value(0), tiling.split);
  op.set(0, op.emit.reshape(op.emit.broadcastTo(x, tiling.repeated),
                            tiling.result));
}

void foldTile(Op &op) {
  Tiling tiling = tilingOf(op);
  HostTensor x = op.constant(0, "operand").reshaped(tiling.split);
  op.set(0, broadcastTo(x, tiling.repeated).reshaped(tiling.result));
}

const OpDef kOps[] = {
    {"Expand", 8, emitExpand, foldExpand, gradientTo<0>},
    {"Tile", 6, emitTile, foldTile, gradientTo<0>},
    {"Transpose", 1, emitTranspose, foldTranspose},
};

} // namespace

llvm::ArrayRef<OpDef> expandOps() { return kOps; }

} // namespace zerograph::frontend
