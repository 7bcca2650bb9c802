//===- Pool.cpp - gradients of windows ------------------------------------===//
//
// Window i has of x what is at i * stride - low + p, p the place of an element
// in the window. So in x by blocks of `stride`, element b of block j is in
// window j + e at p = b + low - e * stride: a block is seen by few windows,
// each at one offset e, and its gradient is a sum over them. They are read
// where the block is, shifted: nothing is scattered, and no zeros are put
// between.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/rules/Rule.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

class PoolGradient {
public:
  PoolGradient(PoolOp op, Gradient &g)
      : g(g), place(op.getPlace()), dim(op.getDim()), stride(op.getStride()),
        dilation(op.getDilation()), low(op.getLow()),
        lastPlace(op.getLastPlace()), x(shapeOf(op.getOperand())), blocks(x) {
    windows = shapeOf(op.getResult())[dim];
    if (windows == 1) {
      stride = x[dim]; // It has no meaning, and one block is least.
    }
    blocks[dim] = llvm::divideCeil(x[dim], stride);
    block = std::min(stride, x[dim]);
    split = blocks;
    split.insert(split.begin() + dim + 1, block);
  }

  /// Null where no window sees the operand.
  Value build() const {
    Value total;
    int64_t first = llvm::divideCeilSigned(low - lastPlace, stride);
    int64_t last = (low + block - 1) / stride;
    // Others are of no window.
    first = std::max(first, 1 - blocks[dim]);
    last = std::min(last, windows - 1);
    for (int64_t e = first; e <= last; ++e) {
      if (sees(e)) {
        Value term = ofWindow(e);
        total = total ? g.add(total, term) : term;
      }
    }
    if (!total) {
      return {};
    }
    SmallVector<int64_t> joined = blocks;
    joined[dim] *= block;
    return part(g.reshape(total, joined), 0, x);
  }

private:
  /// Returns whether an element of block j is one of window j + e.
  bool sees(int64_t e) const {
    int64_t first = std::max<int64_t>(low - e * stride, 0);
    int64_t last = std::min(low - e * stride + block - 1, lastPlace);
    return last >= first && last / dilation * dilation >= first;
  }

  /// Returns what comes to each element from window j + e.
  Value ofWindow(int64_t e) const {
    // Without such a window the gradient is 0, whatever its place.
    Value gradient = ofBlocks(g.of(), e);
    int64_t first = low - e * stride;
    Value here = g.shift(
        g.iota(RankedTensorType::get(split, g.builder.getI32Type()), dim + 1),
        first);
    if (place) {
      Value at = g.convert(ofBlocks(place, e), g.builder.getI32Type());
      return g.keepIf(g.compare(CompareKind::eq, at, here), gradient);
    }
    Value within;
    auto require = [&](Value condition) {
      within = within ? g.binary(BinaryKind::logical_and, within, condition)
                      : condition;
    };
    if (first < 0) {
      require(g.compare(CompareKind::ge, here, g.splat(here, 0)));
    }
    if (first + block - 1 > lastPlace) {
      require(g.compare(CompareKind::le, here, g.splat(here, lastPlace)));
    }
    if (dilation != 1) {
      Value rest = g.binary(BinaryKind::rem, here, g.splat(here, dilation));
      require(g.compare(CompareKind::eq, rest, g.splat(rest, 0)));
    }
    return within ? g.keepIf(within, gradient) : gradient;
  }

  /// For each element of block j, the number of window j + e.
  Value ofBlocks(Value ofWindows, int64_t e) const {
    SmallVector<int64_t> behind(x.size(), 0), shape(shapeOf(ofWindows));
    behind[dim] = std::max<int64_t>(-e, 0);
    int64_t start = std::max<int64_t>(e, 0);
    shape[dim] = std::max(behind[dim] + shape[dim], start + blocks[dim]);
    Value shifted = part(g.pad(ofWindows, behind, shape), start, blocks);
    SmallVector<int64_t> one = split;
    one[dim + 1] = 1;
    return g.broadcast(g.reshape(shifted, one), split);
  }

  /// A slice of the pooled dimension.
  Value part(Value whole, int64_t start, ArrayRef<int64_t> shape) const {
    SmallVector<int64_t> starts(x.size(), 0), ones(x.size(), 1);
    starts[dim] = start;
    return shapeOf(whole) == shape ? whole
                                   : g.slice(whole, starts, ones, shape);
  }

  Gradient &g;
  Value place; ///< where maxima lie; null for sums
  int64_t dim, stride, dilation, low, lastPlace, windows;
  int64_t block; ///< elements: the stride, except where x is one shorter block
  ArrayRef<int64_t> x;
  SmallVector<int64_t> blocks; ///< x, of which `dim` counts blocks
  SmallVector<int64_t> split;  ///< the same with the elements of a block
};

LogicalResult poolRule(PoolOp op, Gradient &g) {
  if (g.of(0)) {
    if (Value gradient = PoolGradient(op, g).build()) {
      g.set(0, gradient);
    }
  }
  return success();
}

} // namespace

void mlir::zg::nn::attachPoolRules(MLIRContext *context) {
  attachRule<PoolOp, poolRule>(context);
}
