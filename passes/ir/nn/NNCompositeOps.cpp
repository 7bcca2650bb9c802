//===- NNCompositeOps.cpp - verifiers of composites and random ops --------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Numerics.h"

using namespace mlir;
using namespace mlir::zg::nn;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult ScalarOp::verify() {
  if (!llvm::is_contained(
          {kSeedScalar, kStepScalar, kSampleBaseScalar, kLossScaleScalar},
          getName())) {
    return emitOpError("knows no '")
           << getName() << "'; there are seed, step, sample_base and "
           << kLossScaleScalar;
  }
  Builder builder(getContext());
  Type element = getName() == kLossScaleScalar ? Type(builder.getF32Type())
                                               : builder.getI64Type();
  auto type = RankedTensorType::get({1}, element);
  if (getType() != type) {
    return emitOpError("gives ") << type << ", not " << getType();
  }
  return success();
}

/// Verifies what tells an op's random numbers from another's.
static LogicalResult verifyNumber(Operation *op, int64_t number) {
  if (number < 0 || number > UINT32_MAX) {
    return op->emitOpError("has number ")
           << number << ", which is no number of 32 bits";
  }
  return success();
}

LogicalResult RandomUniformOp::verify() {
  if (!getIndex().getType().getElementType().isInteger(64) ||
      !getType().getElementType().isF32()) {
    return emitOpError("makes f32 of i64, not ")
           << getType() << " of " << getIndex().getType();
  }
  return verifyNumber(*this, getNumber());
}

/// Verifies where an op that is given its random numbers has samples.
static LogicalResult verifySamples(Operation *op, RankedTensorType type,
                                   std::optional<ArrayRef<int64_t>> samples) {
  if (samples && !samples->empty() &&
      (samples->size() != 2 || (*samples)[0] < 0 ||
       (*samples)[0] >= type.getRank() || (*samples)[1] < 1 ||
       type.getDimSize((*samples)[0]) % (*samples)[1] != 0)) {
    return op->emitOpError("has samples [")
           << *samples << "], which are no dimension of " << type
           << " and a number that divides its size";
  }
  return success();
}

LogicalResult RandomLikeOp::verify() {
  if (!getType().getElementType().isF32()) {
    return emitOpError("makes f32, not ") << getType();
  }
  if (failed(verifySamples(*this, getType(), getSamples()))) {
    return failure();
  }
  return verifyNumber(*this, getNumber());
}

static bool isVector(Value value, int64_t size) {
  RankedTensorType type = tensor(value);
  return type.getElementType().isF64() &&
         type.getShape() == ArrayRef<int64_t>{size};
}

LogicalResult SumSquaresOp::verify() {
  if (getOperands().empty()) {
    return emitOpError("needs an operand");
  }
  for (Value operand : getOperands()) {
    RankedTensorType type = tensor(operand);
    if (type.getRank() != 1 || type.getNumElements() % kSquareBlock != 0) {
      return emitOpError("needs flat tensors of a multiple of ")
             << kSquareBlock << " elements, not " << type;
    }
  }
  if (!isVector(getResult(), kLimbs + 1)) {
    return emitOpError("makes ")
           << kLimbs + 1 << " limbs of f64, not " << getType();
  }
  return success();
}

LogicalResult BlockSquaresOp::verify() {
  RankedTensorType type = tensor(getOperand());
  if (type.getRank() != 1 || type.getNumElements() % kSquareBlock != 0) {
    return emitOpError("needs a flat tensor of a multiple of ")
           << kSquareBlock << " elements, not " << type;
  }
  auto limbs = type.clone({type.getNumElements() / kSquareBlock, kLimbs + 1},
                          Float64Type::get(getContext()));
  if (tensor(getResult()) != limbs) {
    return emitOpError("makes ") << limbs << ", not " << getType();
  }
  return success();
}

LogicalResult LimbValueOp::verify() {
  RankedTensorType limbs = tensor(getLimbs());
  bool several = limbs.getRank() == 2 && limbs.getElementType().isF64() &&
                 limbs.getDimSize(1) == kLimbs + 1;
  if (!(several || isVector(getLimbs(), kLimbs + 1)) ||
      !isVector(getResult(), several ? limbs.getDimSize(0) : 1)) {
    return emitOpError("makes one f64 of ")
           << kLimbs + 1 << " limbs, not " << getType() << " of "
           << getLimbs().getType();
  }
  return success();
}

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1)) {
    return emitOpError("has ratio ")
           << ratio << ", which is not at least 0 and less than 1";
  }
  RankedTensorType type = tensor(getOperand());
  if (tensor(getMask()).getShape() != type.getShape()) {
    return emitOpError("gives a mask of shape ")
           << getMask().getType() << " for " << type;
  }
  if (failed(verifySamples(*this, type, getSamples()))) {
    return failure();
  }
  return verifyNumber(*this, getNumber());
}

static LogicalResult verifySoftmax(Operation *op) {
  if (tensor(op->getResult(0)).getRank() < 1) {
    return op->emitOpError("needs rank 1 or more");
  }
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifySoftmax(*this); }
LogicalResult SoftmaxGradOp::verify() { return verifySoftmax(*this); }

/// Verifies a layer_norm or its gradient.
static LogicalResult verifyNorm(Operation *op, RankedTensorType x,
                                RankedTensorType scale, RankedTensorType mean,
                                RankedTensorType rstd) {
  if (x.getRank() < 1) {
    return op->emitOpError("needs rank 1 or more");
  }
  auto row = RankedTensorType::get({x.getShape().back()}, x.getElementType());
  if (scale != row) {
    return op->emitOpError("needs scale and bias ") << row << ", not " << scale;
  }
  SmallVector<int64_t> shape(x.getShape());
  shape.back() = 1;
  auto statistics = RankedTensorType::get(shape, x.getElementType());
  if (mean != statistics || rstd != statistics) {
    return op->emitOpError("has statistics ")
           << statistics << ", not " << (mean != statistics ? mean : rstd);
  }
  return success();
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, tensor(getOperand()), tensor(getScale()),
                    tensor(getMean()), tensor(getRstd()));
}

LogicalResult LayerNormGradOp::verify() {
  return verifyNorm(*this, tensor(getOperand()), tensor(getScale()),
                    tensor(getMean()), tensor(getRstd()));
}

/// Verifies a softmax_cross_entropy or its gradient. `rows` have a number a
/// row.
static LogicalResult verifyCrossEntropy(Operation *op, RankedTensorType logits,
                                        RankedTensorType labels,
                                        ValueRange rows) {
  if (logits.getRank() != 2) {
    return op->emitOpError("needs logits of rank 2, not ") << logits;
  }
  SmallVector<int64_t> shape{logits.getDimSize(0), 1};
  auto row = RankedTensorType::get(shape, logits.getElementType());
  if (labels.getShape() != ArrayRef<int64_t>(shape)) {
    return op->emitOpError("needs labels of shape ")
           << shape[0] << "x1, not " << labels;
  }
  for (Value value : rows) {
    if (value.getType() != row) {
      return op->emitOpError("has one number a row, ")
             << row << ", not " << value.getType();
    }
  }
  return success();
}

LogicalResult SoftmaxCrossEntropyOp::verify() {
  return verifyCrossEntropy(*this, tensor(getLogits()), tensor(getLabels()),
                            {getLoss(), getMax(), getLogSum()});
}

LogicalResult SoftmaxCrossEntropyGradOp::verify() {
  SmallVector<Value> rows{getMax(), getLogSum(), getDloss()};
  if (getDlogSum()) {
    rows.push_back(getDlogSum());
  }
  return verifyCrossEntropy(*this, tensor(getLogits()), tensor(getLabels()),
                            rows);
}
