//===- Moments.cpp - means and variances that keep their digits -----------===//
//
// The first of the elements is subtracted before they are added up, so that of
// equal ones nothing but zeros are; what is left of the mean afterwards is
// added to it, and corrects the variance and what is centered. Chan, Golub,
// LeVeque, "Algorithms for computing the sample variance", 1983: the corrected
// two-pass algorithm of shifted data. It reads the elements as often as two
// plain passes would.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/decompose/Decomposition.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

Moments mlir::zg::nn::momentsOf(NNBuilder &b, Value x, ArrayRef<int64_t> dims) {
  Type element = elementOf(x);
  if (element.getIntOrFloatBitWidth() < 32) {
    x = b.convert(x, b.builder.getF32Type());
  }
  ArrayRef<int64_t> shape = shapeOf(x);
  SmallVector<int64_t> one(shape);
  int64_t count = 1;
  for (int64_t dim : dims) {
    count *= shape[dim];
    one[dim] = 1;
  }
  SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  auto mean = [&](Value y) { return b.scale(b.sum(y, dims), 1.0 / count); };
  auto from = [&](Value origin) {
    return b.sub(x, b.broadcast(origin, shape));
  };
  Value first = b.slice(x, starts, steps, one);
  Value near = b.add(first, mean(from(first)));
  Value distance = from(near);
  Value rest = mean(distance);
  Value square = mean(b.mul(distance, distance));
  Value variance = b.sub(square, b.mul(rest, rest));
  // It is at most rounding that makes it negative.
  variance = b.binary(BinaryKind::max, variance, b.splat(variance, 0));
  Value centered = b.sub(distance, b.broadcast(rest, shape));
  return {b.convert(b.add(near, rest), element), b.convert(variance, element),
          b.convert(centered, element)};
}
