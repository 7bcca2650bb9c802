//===- TrainedBias.cpp - a bias of scores that is trained -----------------===//

#include "passes/differentiate/TrainedBias.h"

#include "passes/ir/nn/Numerics.h"
#include "passes/ir/nn/Queries.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Returns the name, in quotes, of what a value is a view of.
std::string nameOfSource(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isPlainView(op)) {
      break;
    }
    value = op->getOperand(0);
  }
  return "'" + nameOf(value.getLoc()) + "'";
}

/// Returns the shape of a bias that all samples have: [heads, queries, keys].
SmallVector<int64_t, 4> matricesOf(Value value) {
  SmallVector<int64_t, 4> shape = {leadingOf(shapeOf(value)).back()};
  llvm::append_range(shape, shapeOf(value).take_back(2));
  return shape;
}

} // namespace

SmallVector<int64_t, 4> mlir::zg::nn::leadingOf(ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> dims = shape.drop_back(2);
  int64_t heads = dims.size() > 1 ? dims.back() : 1;
  return {ShapedType::getNumElements(dims) / heads, heads};
}

bool mlir::zg::nn::isForAll(Value matrices) {
  ArrayRef<int64_t> shape = shapeOf(matrices);
  return shape.size() > 2 && leadingOf(shape).front() == 1;
}

void TrainedBias::take(Value value, SoftmaxOp softmax) {
  auto repeats = value.getDefiningOp<BroadcastOp>();
  Value taken = repeats ? repeats.getOperand() : value;
  std::string name = "a bias of its scores, " + nameOfSource(taken) + ", is ";
  if (!isForAll(taken) ||
      shapeOf(value).take_back(2) != shapeOf(softmax).take_back(2) ||
      elementsOf(value) != elementsOf(softmax)) {
    trouble = name + "trained and not the same for all samples";
  } else if (elementOf(taken) != elementOf(softmax)) {
    trouble = name + "trained and of another type";
  } else if (wide && wide != value) {
    trouble = "two biases of its scores, " + nameOfSource(own) + " and " +
              nameOfSource(taken) + ", are trained";
  }
  own = taken;
  wide = value;
}

/// Leaves a bias of few scores and many samples alone, as Swin's windows have
/// it: each block of its gradient adds up all samples, one after the other, and
/// so few blocks would keep most of a device waiting.
void TrainedBias::checkBlocks() {
  if (!wide || !trouble.empty()) {
    return;
  }
  auto blocks = [](int64_t extent) {
    return int64_t(llvm::divideCeil(extent, kRowChains));
  };
  ArrayRef<int64_t> scores = shapeOf(wide).take_back(2);
  SmallVector<int64_t, 4> leading = leadingOf(shapeOf(wide));
  int64_t parts = leading[1] * blocks(scores[0]) * blocks(scores[1]);
  if (parts < leading[0]) {
    trouble = "a bias of its scores, " + nameOfSource(own) +
              ", is trained, with fewer blocks of scores (" +
              std::to_string(parts) + ") than samples (" +
              std::to_string(leading[0]) + ")";
  }
}

Value TrainedBias::turned(NNBuilder &b) const {
  Value matrices = b.reshape(own, matricesOf(own));
  return b.transpose(b.broadcast(matrices, matricesOf(wide)), {0, 2, 1});
}

Value TrainedBias::repeat(NNBuilder &b, Value extra,
                          ArrayRef<int64_t> scores) const {
  SmallVector<int64_t, 4> once(scores);
  once.front() = 1;
  Value each = b.broadcast(b.reshape(extra, once), scores);
  return b.transpose(each, {0, 1, 3, 2});
}
