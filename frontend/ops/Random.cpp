//===- Random.cpp - dropout -----------------------------------------------===//

#include "frontend/ops/Ops.h"

#include "absl/strings/str_cat.h"

namespace zerograph::frontend {

namespace {

/// The value passes and nothing is dropped.
void passThrough(Op &op) {
  op.forward(0, 0);
  // The mask once had the type of the values.
  int32_t mask = op.opset() < 10 ? op.type(0) : onnx::TensorProto::BOOL;
  op.set(1, HostTensor::splat(mask, op.shape(0), 1));
}

/// Drops by the user's ratio, else by the file's.
void drop(Op &op, double ofFile) {
  double ratio = op.decideDropout(ofFile);
  if (!(ratio >= 0 && ratio < 1)) {
    fail("ratio ", ratio, " is not at least 0 and less than 1");
  }
  if (ratio == 0) {
    passThrough(op);
    return;
  }
  if (op.hasAttribute("seed")) {
    op.note("the attribute 'seed' of Dropout is not used; --seed makes a run's "
            "random numbers");
  }
  mlir::Value x = op.value(0);
  auto type = Emitter::typeOf(x);
  if (!Emitter::isFloat(x)) {
    fail("data is not floating-point");
  }
  mlir::OpBuilder &b = op.emit.builder;
  auto dropout = b.create<nn::DropoutOp>(
      op.emit.location, type, type.clone(b.getI1Type()), x,
      b.getF64FloatAttr(ratio), b.getI64IntegerAttr(op.nextRandomNumber()),
      mlir::DenseI64ArrayAttr());
  op.set(0, dropout.getResult());
  mlir::Value mask = dropout.getMask();
  op.set(1,
         op.opset() < 10 ? op.emit.convert(mask, type.getElementType()) : mask);
}

/// Before version 12 nothing in the file says that a dropout is active.
void emitPassiveDropout(Op &op) {
  float ratio = op.floatAttribute("ratio", 0.5f);
  if (ratio != 0 && !op.setsDropout()) {
    op.warn(absl::StrCat("dropout with ratio ", ratio,
                         " stays off: before ai.onnx 12 a file cannot say that "
                         "it is active; turn it on with --dropout RATIO"));
  }
  drop(op, 0);
}

void emitDropout(Op &op) {
  // Off without training_mode, and nothing at ratio 0.
  bool training = false;
  if (op.hasInput(2)) {
    training = op.constant(2, "training_mode").intAt(0) != 0;
  }
  double ratio = 0.5;
  if (op.hasInput(1)) {
    ratio = op.constant(1, "ratio").floatAt(0);
  }
  drop(op, training ? ratio : 0);
}

const OpDef kOps[] = {
    {"Dropout", 7, emitPassiveDropout},
    {"Dropout", 12, emitDropout},
};

} // namespace

llvm::ArrayRef<OpDef> randomOps() { return kOps; }

} // namespace zerograph::frontend
