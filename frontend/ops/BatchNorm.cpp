//===- BatchNorm.cpp - normalization over the samples ---------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// [N, C, places] -> the mean of each channel, [1, C, 1].
Value channelMean(Emitter &emit, Value x) {
  Shape shape = Emitter::shapeOf(x);
  Value sum = emit.reduce(ReduceKind::sum, x, {2}, true);
  sum = emit.reduce(ReduceKind::sum, sum, {0}, true);
  return emit.mul(sum, 1.0 / static_cast<double>(shape[0] * shape[2]));
}

/// Statistics of the batch in training mode, else those given. The running
/// ones move towards the batch's, whose variance is that of the population.
void emitBatchNormalization(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  if (shape.size() < 2 || !Emitter::isFloat(x)) {
    fail("needs floats of shape [samples, channels, places...], not ",
         shapeText(shape));
  }
  for (int i = 1; i < 5; ++i) {
    if (op.shape(i) != Shape{shape[1]}) {
      fail("input ", i, " has shape ", shapeText(op.shape(i)), " for ",
           shape[1], " channels");
    }
  }
  mlir::Type element = Emitter::elementOf(x);
  Shape column{1, shape[1], 1};
  auto perChannel = [&](int input) {
    return emit.reshape(emit.convert(op.value(input), element), column);
  };
  bool training = op.intAttribute("training_mode", 0) != 0;
  Value flat = emit.reshape(
      x, {shape[0], shape[1],
          elementCount(shape) / std::max<int64_t>(1, shape[0] * shape[1])});
  Value mean = training ? channelMean(emit, flat) : perChannel(3);
  Value centered = emit.sub(flat, mean);
  Value variance = training ? channelMean(emit, emit.mul(centered, centered))
                            : perChannel(4);
  double epsilon = op.floatAttribute("epsilon", 1e-5f);
  Value deviation = emit.unary(UnaryKind::sqrt, emit.add(variance, epsilon));
  Value y = emit.mul(centered, emit.div(perChannel(1), deviation));
  op.set(0, emit.reshape(emit.add(y, perChannel(2)), shape));

  double momentum = op.floatAttribute("momentum", 0.9f);
  Value statistics[] = {mean, variance};
  for (int i : {0, 1}) {
    if (op.wantsOutput(i + 1)) {
      if (!training) {
        fail("gives running statistics without training_mode");
      }
      mlir::Type type = Emitter::elementOf(op.value(i + 3));
      Value batch = emit.convert(emit.reshape(statistics[i], {shape[1]}), type);
      op.set(i + 1, emit.add(emit.mul(op.value(i + 3), momentum),
                             emit.mul(batch, 1 - momentum)));
    }
  }
}

const OpDef kOps[] = {{"BatchNormalization", 14, emitBatchNormalization}};

} // namespace

llvm::ArrayRef<OpDef> batchNormOps() { return kOps; }

} // namespace zerograph::frontend
