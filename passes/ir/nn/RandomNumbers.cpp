//===- RandomNumbers.cpp - random numbers of a step -----------------------===//

#include "passes/ir/nn/RandomNumbers.h"

using namespace mlir;
using namespace mlir::zg::nn;

RandomScalars mlir::zg::nn::randomScalars(NNBuilder &b) {
  auto scalar = [&](StringRef name) {
    auto type = RankedTensorType::get({1}, b.builder.getI64Type());
    return b.builder.create<ScalarOp>(b.location, type, name);
  };
  return {scalar(kSeedScalar), scalar(kStepScalar), scalar(kSampleBaseScalar)};
}

namespace {

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

} // namespace

Value mlir::zg::nn::randomUniform(NNBuilder &b, ArrayRef<int64_t> shape,
                                  ArrayRef<int64_t> samples, int64_t number,
                                  const RandomScalars &scalars) {
  Value index = placeInMicroBatch(b, shape, samples);
  if (!samples.empty()) {
    int64_t ofOne = ShapedType::getNumElements(shape) / samples[1];
    Value base = b.scale(scalars.sampleBase, double(ofOne));
    index = b.add(index, everywhere(b, base, shape));
  }
  Value seed = everywhere(b, scalars.seed, shape);
  Value step = everywhere(b, scalars.step, shape);
  auto type = RankedTensorType::get(shape, b.builder.getF32Type());
  return b.builder.create<RandomUniformOp>(b.location, type, seed, step, index,
                                           number);
}

Value mlir::zg::nn::keptElements(NNBuilder &b, DropoutOp dropout,
                                 ArrayRef<int64_t> samples,
                                 const RandomScalars &scalars) {
  Value uniform = randomUniform(b, shapeOf(dropout.getOperand()), samples,
                                dropout.getNumber(), scalars);
  double ratio = dropout.getRatio().convertToDouble();
  return b.compare(CompareKind::ge, uniform, b.splat(uniform, ratio));
}
