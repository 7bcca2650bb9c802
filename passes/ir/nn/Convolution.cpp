//===- Convolution.cpp - which element meets which in a convolution -------===//

#include "passes/ir/nn/Convolution.h"

using namespace mlir;
using namespace mlir::zg::nn;
using mlir::zg::nn::Convolution;

Convolution::Convolution(ConvolutionKind kind, Type lhs, Type rhs, Type result,
                         ArrayRef<int64_t> strides, ArrayRef<int64_t> low,
                         ArrayRef<int64_t> dilations, int64_t groups)
    : kind(kind), strides(strides), low(low), dilations(dilations),
      groups(groups) {
  auto left = cast<RankedTensorType>(lhs), right = cast<RankedTensorType>(rhs);
  auto made = cast<RankedTensorType>(result);
  switch (kind) {
  case ConvolutionKind::forward:
    std::tie(input, weights, output) = std::tuple(left, right, made);
    break;
  case ConvolutionKind::input:
    std::tie(output, weights, input) = std::tuple(left, right, made);
    break;
  case ConvolutionKind::weights:
    std::tie(input, output, weights) = std::tuple(left, right, made);
    break;
  }
}

Convolution::Convolution(ConvolutionOp op)
    : Convolution(op.getKind(), op.getLhs().getType(), op.getRhs().getType(),
                  op.getType(), op.getStrides(), op.getLow(), op.getDilations(),
                  op.getGroups()) {}

int64_t Convolution::high(unsigned place) const {
  int64_t end = (output.getDimSize(place + 2) - 1) * strides[place] +
                (weights.getDimSize(place + 2) - 1) * dilations[place] + 1;
  return std::max<int64_t>(0, end - low[place] - input.getDimSize(place + 2));
}

const RankedTensorType &Convolution::result() const {
  return kind == ConvolutionKind::forward ? output
         : kind == ConvolutionKind::input ? input
                                          : weights;
}

LogicalResult Convolution::verify(Operation *op) const {
  int64_t rank = input.getRank();
  if (rank < 3 || weights.getRank() != rank || output.getRank() != rank) {
    return op->emitOpError("input, weights and output need one rank, at least "
                           "3, not ")
           << input << ", " << weights << ", " << output;
  }
  Type element =
      (kind == ConvolutionKind::input ? output : input).getElementType();
  bool widens = isHalf(element) && result().getElementType().isF32();
  for (const RankedTensorType *tensor : {&input, &weights, &output}) {
    bool isSum = widens && tensor == &result();
    if (tensor->getElementType() != element && !isSum) {
      return op->emitOpError("input, weights and output differ in type: ")
             << input << ", " << weights << ", " << output;
    }
  }
  auto isOneEach = [&](ArrayRef<int64_t> numbers) {
    return int64_t(numbers.size()) == rank - 2;
  };
  if (!isOneEach(strides) || !isOneEach(low) || !isOneEach(dilations)) {
    return op->emitOpError("strides, low and dilations need one number for "
                           "each of ")
           << rank - 2 << " place dimensions";
  }
  if (llvm::any_of(strides, [](int64_t n) { return n < 1; }) ||
      llvm::any_of(dilations, [](int64_t n) { return n < 1; }) ||
      llvm::any_of(low, [](int64_t n) { return n < 0; })) {
    return op->emitOpError("strides and dilations are at least 1, low at least "
                           "0");
  }
  if (output.getDimSize(0) != samples()) {
    return op->emitOpError("samples differ: ") << input << " and " << output;
  }
  if (groups < 1 || channels() % groups != 0 ||
      weights.getDimSize(1) != channels() / groups ||
      weights.getDimSize(0) != features() || features() % groups != 0) {
    return op->emitOpError("groups do not divide the channels: ")
           << groups << " of " << input << ", " << weights << ", " << output;
  }
  for (unsigned i = 0; i < places(); ++i) {
    // Less is left after the last window than would make another.
    int64_t window = (weights.getDimSize(i + 2) - 1) * dilations[i] + 1;
    int64_t left = input.getDimSize(i + 2) + low[i] + high(i) - window -
                   (output.getDimSize(i + 2) - 1) * strides[i];
    if (left < 0 || left >= strides[i]) {
      return op->emitOpError("windows do not fit place dimension ")
             << i << ": " << output.getDimSize(i + 2) << " of " << window
             << " elements, " << strides[i] << " apart, in "
             << input.getDimSize(i + 2) << " elements after " << low[i]
             << " zeros";
    }
  }
  return success();
}
