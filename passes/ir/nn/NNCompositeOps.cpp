//===- NNCompositeOps.cpp - verifiers of composites and random ops ------===//

#include "passes/ir/nn/NNDialect.h"

using namespace mlir;
using namespace mlir::zg::nn;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult ScalarOp::verify() {
  if (!llvm::is_contained({kSeedScalar, kStepScalar, kSampleBaseScalar},
                          getName())) {
    return emitOpError("knows no '")
           << getName() << "'; there are seed, step and sample_base";
  }
  auto type = RankedTensorType::get({1}, IntegerType::get(getContext(), 64));
  if (getType() != type) {
    return emitOpError("gives ") << type << ", not " << getType();
  }
  return success();
}

/// Of what tells an op's random numbers from another's.
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

/// Of where an op that is given its random numbers has samples.
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

LogicalResult SoftmaxOp::verify() {
  if (tensor(getResult()).getRank() < 1) {
    return emitOpError("needs rank 1 or more");
  }
  return success();
}

LogicalResult LayerNormOp::verify() {
  RankedTensorType x = tensor(getOperand());
  if (x.getRank() < 1) {
    return emitOpError("needs rank 1 or more");
  }
  auto scale = RankedTensorType::get({x.getShape().back()}, x.getElementType());
  if (tensor(getScale()) != scale) {
    return emitOpError("needs scale and bias ")
           << scale << ", not " << getScale().getType();
  }
  SmallVector<int64_t> shape(x.getShape());
  shape.back() = 1;
  auto statistics = RankedTensorType::get(shape, x.getElementType());
  if (tensor(getMean()) != statistics || tensor(getRstd()) != statistics) {
    return emitOpError("gives statistics ")
           << statistics << ", not " << getMean().getType();
  }
  return success();
}

LogicalResult SoftmaxCrossEntropyOp::verify() {
  RankedTensorType logits = tensor(getLogits());
  if (logits.getRank() != 2) {
    return emitOpError("needs logits of rank 2, not ") << logits;
  }
  SmallVector<int64_t> rows{logits.getDimSize(0), 1};
  if (tensor(getLabels()).getShape() != ArrayRef<int64_t>(rows) ||
      tensor(getLoss()) !=
          RankedTensorType::get(rows, logits.getElementType()) ||
      getLse().getType() != getLoss().getType()) {
    return emitOpError("needs labels and loss of shape ")
           << rows[0] << "x1, not " << getLabels().getType() << " and "
           << getLoss().getType();
  }
  return success();
}
