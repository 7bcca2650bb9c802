//===- BatchNorm.cpp - batch normalization with known statistics ----------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, one a channel.
void emitBatchNormalization(Op &op) {
  bool training = op.intAttribute("training_mode", 0) != 0;
  for (int i = 1; i < op.proto().output_size(); ++i) {
    training |= op.wantsOutput(i);
  }
  if (training) {
    fail("batch normalization in training mode is not supported yet");
  }
  if (op.intAttribute("spatial", 1) == 0) {
    fail("spatial=0 is not supported");
  }
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  if (shape.size() < 2) {
    fail("needs an input of rank 2 or more, not ", shapeText(shape));
  }
  Shape column(shape.size() - 1, 1);
  column[0] = shape[1];
  mlir::Type element = Emitter::elementOf(x), wide = element;
  Value channel[5];
  for (int i = 1; i < 5; ++i) {
    if (op.shape(i) != Shape{shape[1]}) {
      fail("input ", i, " has shape ", shapeText(op.shape(i)), " for ",
           shape[1], " channels");
    }
    channel[i] = op.value(i);
    // Scales and statistics may be more precise than the images.
    if (Emitter::elementOf(channel[i]).getIntOrFloatBitWidth() >
        wide.getIntOrFloatBitWidth()) {
      wide = Emitter::elementOf(channel[i]);
    }
  }
  for (int i = 1; i < 5; ++i) {
    channel[i] = emit.reshape(emit.convert(channel[i], wide), column);
  }
  Value root =
      emit.unary(UnaryKind::sqrt,
                 emit.add(channel[4], op.floatAttribute("epsilon", 1e-5f)));
  Value y = emit.sub(emit.convert(x, wide), channel[3]);
  y = emit.add(emit.mul(y, emit.div(channel[1], root)), channel[2]);
  op.set(0, emit.convert(y, element));
}

const OpDef kOps[] = {
    {"BatchNormalization", 7, emitBatchNormalization},
};

} // namespace

llvm::ArrayRef<OpDef> batchNormOps() { return kOps; }

} // namespace zerograph::frontend
