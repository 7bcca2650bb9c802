//===- Shape.cpp - gradients of ops that move elements --------------------===//

#include "passes/differentiate/rules/Rule.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

LogicalResult broadcastRule(BroadcastOp op, Gradient &g) {
  SmallVector<int64_t> dims;
  ArrayRef<int64_t> from = shapeOf(op.getOperand()), to = shapeOf(op);
  for (int64_t dim = 0, rank = from.size(); dim < rank; ++dim) {
    if (from[dim] != to[dim]) {
      dims.push_back(dim);
    }
  }
  g.set(0, g.sum(g.of(), dims));
  return success();
}

LogicalResult reshapeRule(ReshapeOp op, Gradient &g) {
  g.set(0, g.reshape(g.of(), shapeOf(op.getOperand())));
  return success();
}

LogicalResult transposeRule(TransposeOp op, Gradient &g) {
  SmallVector<int64_t> inverse(op.getPermutation().size());
  for (auto [to, from] : llvm::enumerate(op.getPermutation())) {
    inverse[from] = to;
  }
  g.set(0, g.transpose(g.of(), inverse));
  return success();
}

/// Puts `step - 1` zeros between neighbours along `dim`.
Value interleaveZeros(Value x, int64_t dim, int64_t step, NNBuilder &b) {
  SmallVector<int64_t> shape(shapeOf(x));
  int64_t size = shape[dim];
  SmallVector<int64_t> split = shape;
  split.insert(split.begin() + dim + 1, 1);
  x = b.reshape(x, split);
  split[dim + 1] = step;
  x = b.pad(x, SmallVector<int64_t>(split.size(), 0), split);
  shape[dim] = size * step;
  x = b.reshape(x, shape);
  // The zeros after the last element may not fit into the operand.
  shape[dim] = (size - 1) * step + 1;
  return b.slice(x, SmallVector<int64_t>(shape.size(), 0),
                 SmallVector<int64_t>(shape.size(), 1), shape);
}

LogicalResult sliceRule(SliceOp op, Gradient &g) {
  SmallVector<int64_t> starts(op.getStarts()), steps(op.getSteps());
  SmallVector<int64_t> shape(shapeOf(op));
  if (op.getType().getNumElements() == 0) {
    return success();
  }
  // A negative step reads the same elements as its reverse, backwards.
  SmallVector<int64_t> first(shape.size(), 0), direction(shape.size(), 1);
  bool reversed = false;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (steps[dim] < 0) {
      reversed = true;
      first[dim] = shape[dim] - 1;
      direction[dim] = -1;
      starts[dim] += (shape[dim] - 1) * steps[dim];
      steps[dim] = -steps[dim];
    }
  }
  Value gradient = g.of();
  if (reversed) {
    gradient = g.slice(gradient, first, direction, shape);
  }
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (steps[dim] != 1 && shape[dim] > 1) {
      gradient = interleaveZeros(gradient, dim, steps[dim], g);
    }
  }
  g.set(0, g.pad(gradient, starts, shapeOf(op.getOperand())));
  return success();
}

LogicalResult padRule(PadOp op, Gradient &g) {
  SmallVector<int64_t> ones(op.getLow().size(), 1);
  g.set(0, g.slice(g.of(), op.getLow(), ones, shapeOf(op.getOperand())));
  return success();
}

LogicalResult concatRule(ConcatOp op, Gradient &g) {
  SmallVector<int64_t> starts(shapeOf(op).size(), 0);
  SmallVector<int64_t> ones(starts.size(), 1);
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    if (g.wants(i)) {
      g.set(i, g.slice(g.of(), starts, ones, shapeOf(operand)));
    }
    starts[op.getDim()] += shapeOf(operand)[op.getDim()];
  }
  return success();
}

} // namespace

void mlir::zg::nn::attachShapeRules(MLIRContext *context) {
  attachRule<BroadcastOp, broadcastRule>(context);
  attachRule<ReshapeOp, reshapeRule>(context);
  attachRule<TransposeOp, transposeRule>(context);
  attachRule<SliceOp, sliceRule>(context);
  attachRule<PadOp, padRule>(context);
  attachRule<ConcatOp, concatRule>(context);
}
