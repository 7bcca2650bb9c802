//===- Random.cpp - dropout and random_like by counted random numbers -----===//

#include "passes/kernels/decompose/Decomposition.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

Value scalar(NNBuilder &b, StringRef name) {
  auto type = RankedTensorType::get({1}, b.builder.getI64Type());
  return b.builder.create<ScalarOp>(b.location, type, name);
}

/// A `tensor<1xi64>` for every element.
Value everywhere(NNBuilder &b, Value x, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> ones(shape.size(), 1);
  return b.broadcast(b.reshape(x, ones), shape);
}

/// Element (sample, rest) has sample * (elements of one) + rest.
Value placeInMicroBatch(NNBuilder &b, ArrayRef<int64_t> shape,
                        ArrayRef<int64_t> samples) {
  int64_t elements = ShapedType::getNumElements(shape);
  Value place =
      b.iota(RankedTensorType::get({elements}, b.builder.getI64Type()), 0);
  if (!samples.empty() && samples[1] != 1) {
    int64_t before = ShapedType::getNumElements(shape.take_front(samples[0]));
    int64_t after = elements / before / samples[1];
    if (before != 1) {
      // The samples are in front in the index, though not in the value.
      place = b.reshape(place, {samples[1], before, after});
      place = b.transpose(place, {1, 0, 2});
    }
  }
  return b.reshape(place, shape);
}

/// An f32 in [0, 1) for each element of `shape`. `samples` and `number` are
/// those of `nn.dropout`, where the index is told.
Value randomUniform(NNBuilder &b, ArrayRef<int64_t> shape,
                    ArrayRef<int64_t> samples, int64_t number) {
  Value index = placeInMicroBatch(b, shape, samples);
  if (!samples.empty()) {
    int64_t ofOne = ShapedType::getNumElements(shape) / samples[1];
    Value base = b.scale(scalar(b, kSampleBaseScalar), double(ofOne));
    index = b.add(index, everywhere(b, base, shape));
  }
  Value seed = everywhere(b, scalar(b, kSeedScalar), shape);
  Value step = everywhere(b, scalar(b, kStepScalar), shape);
  auto type = RankedTensorType::get(shape, b.builder.getF32Type());
  return b.builder.create<RandomUniformOp>(b.location, type, seed, step, index,
                                           number);
}

Replacement dropout(DropoutOp op, NNBuilder &b) {
  if (!op.getSamples()) {
    return {}; // reported by the pass
  }
  Value x = op.getOperand();
  double ratio = op.getRatio().convertToDouble();
  Value uniform =
      randomUniform(b, shapeOf(x), *op.getSamples(), op.getNumber());
  Value kept = b.compare(CompareKind::ge, uniform, b.splat(uniform, ratio));
  return {b.keepIf(kept, b.scale(x, 1 / (1 - ratio))), kept};
}

Replacement randomLike(RandomLikeOp op, NNBuilder &b) {
  if (!op.getSamples()) {
    return {}; // reported by the pass
  }
  return {randomUniform(b, shapeOf(op), *op.getSamples(), op.getNumber())};
}

} // namespace

void mlir::zg::nn::addRandomDecompositions(RewritePatternSet &patterns,
                                           const TargetInfo &target) {
  addDecomposition<DropoutOp, dropout>(patterns, target);
  addDecomposition<RandomLikeOp, randomLike>(patterns, target);
}
