//===- BatchNorm.cpp - normalization over the samples ---------------------===//

#include "frontend/ops/Ops.h"

#include "frontend/graph/Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using mlir::Value;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// [N, C, places] -> the mean of each channel, [1, C, 1].
Value channelMean(Emitter &emit, Value x) {
  Shape shape = Emitter::shapeOf(x);
  Value sum = emit.reduce(ReduceKind::sum, x, {0, 2}, true);
  return emit.mul(sum, 1.0 / static_cast<double>(shape[0] * shape[2]));
}

/// Returns whether a value was computed by a reduction, like the statistics of
/// a batch and unlike those that a module stores.
bool isReduced(Value value) {
  llvm::SmallVector<Value> work{value};
  llvm::SmallPtrSet<mlir::Operation *, 8> seen;
  while (!work.empty()) {
    mlir::Operation *made = work.pop_back_val().getDefiningOp();
    if (made != nullptr && seen.insert(made).second) {
      if (mlir::isa<mlir::zg::nn::ReduceOp>(made)) {
        return true;
      }
      llvm::append_range(work, made->getOperands());
    }
  }
  return false;
}

/// Returns whether the node normalizes by the statistics of the batch.
bool isTraining(Op &op) {
  if (op.intAttribute("spatial", 1) == 0) {
    fail("spatial=0 is not supported");
  }
  bool training = op.intAttribute("training_mode", 0) != 0;
  for (int i = 1; !training && i < op.proto().output_size(); ++i) {
    if (op.wantsOutput(i) && op.opset() >= 14) {
      fail("gives running statistics without training_mode");
    }
    training = op.wantsOutput(i); // before 14 they alone say it
  }
  // Some exporters write inference whatever the module's mode. That is right
  // for a module that keeps no statistics: the graph computes the batch's.
  if (!training && (op.isTrained(1) || op.isTrained(2)) &&
      !op.context.options.allow_exporter_damage &&
      !(isReduced(op.value(3)) && isReduced(op.value(4)))) {
    fail("is in inference mode while its scale is trained: its statistics "
         "would never change. PyTorch's dynamo exporter forces this mode; "
         "export with dynamo=False and "
         "training=torch.onnx.TrainingMode.TRAINING, or keep the statistics "
         "with --allow-exporter-damage");
  }
  return training;
}

/// The inputs of a node, [1, channels, 1] each, in the widest of their types.
struct Channels {
  Value scale, bias, mean, variance;
  mlir::Type type;
};

Channels channelsOf(Op &op, mlir::Type wide, int64_t count) {
  checkPerChannel(op, 1, 4, count);
  Value channel[5];
  for (int i = 1; i < 5; ++i) {
    channel[i] = op.value(i);
    // Scales and statistics may be more precise than the images.
    mlir::Type type = Emitter::elementOf(channel[i]);
    if (type.getIntOrFloatBitWidth() > wide.getIntOrFloatBitWidth()) {
      wide = type;
    }
  }
  for (int i = 1; i < 5; ++i) {
    channel[i] =
        op.emit.reshape(op.emit.convert(channel[i], wide), {1, count, 1});
  }
  return {channel[1], channel[2], channel[3], channel[4], wide};
}

/// Returns whether an evaluation normalizes by the statistics that the module
/// stores, which then stay as they are. A module without any uses the batch's
/// in evaluation too: its exporter wants no new ones, or the graph computes
/// them.
bool evaluatesByStored(Op &op) {
  if (!op.context.options.evaluation || !op.wantsOutput(1) ||
      !op.wantsOutput(2) || isReduced(op.value(3)) || isReduced(op.value(4))) {
    return false;
  }
  for (int i : {3, 4}) {
    if (!op.keep(i, op.value(i))) {
      fail("its running statistics are no initializer, or are carried through "
           "a loop: training keeps none that an evaluation could normalize "
           "by; leave out --eval-data and --evaluate");
    }
    op.set(i - 2, op.value(i));
  }
  return true;
}

/// Moves the statistics of input 3 + i towards the batch's, output 1 + i; if
/// they are parameters, keeps them for the next micro-batch.
void moveStatistics(Op &op, int i, Value statistics) {
  if (!op.wantsOutput(i + 1)) {
    return;
  }
  Emitter &emit = op.emit;
  double momentum = op.floatAttribute("momentum", 0.9f);
  // A module that runs twice moves them twice.
  Value old = op.newest(i + 3);
  Value batch = emit.convert(emit.reshape(statistics, Emitter::shapeOf(old)),
                             Emitter::elementOf(old));
  Value moved =
      emit.add(emit.mul(old, momentum), emit.mul(batch, 1 - momentum));
  op.set(i + 1, moved);
  // Statistics that the graph computes of the batch are no state of a module.
  if (!op.keep(i + 3, moved) && !isReduced(old)) {
    op.context.log.warn(
        op.proto(),
        "its running statistics are no initializer, or are carried "
        "through a loop: they are not kept from one micro-batch to the "
        "next");
  }
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, per channel. The
/// batch's variance is that of the population.
void emitBatchNormalization(Op &op) {
  bool training = isTraining(op) && !evaluatesByStored(op);
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  if (shape.size() < 2 || !Emitter::isFloat(x)) {
    fail("needs floats of shape [samples, channels, places...], not ",
         shapeText(shape));
  }
  mlir::Type element = Emitter::elementOf(x);
  Channels channels = channelsOf(op, element, shape[1]);
  int64_t places = elementCount(shape) / (shape[0] * shape[1]);
  Value flat = emit.convert(emit.reshape(x, {shape[0], shape[1], places}),
                            channels.type);
  Value mean = training ? channelMean(emit, flat) : channels.mean;
  Value centered = emit.sub(flat, mean);
  Value variance = training ? channelMean(emit, emit.mul(centered, centered))
                            : channels.variance;
  Value root = emit.unary(
      UnaryKind::sqrt, emit.add(variance, op.floatAttribute("epsilon", 1e-5f)));
  Value y = emit.mul(centered, emit.div(channels.scale, root));
  y = emit.convert(emit.add(y, channels.bias), element);
  op.set(0, emit.reshape(y, shape));
  if (training) {
    moveStatistics(op, 0, mean);
    moveStatistics(op, 1, variance);
  }
}

/// To the running statistics only if the node uses them, and if the graph
/// computes them of its inputs: those that a module stores have no gradient.
bool statisticsCarryGradient(const Graph &graph, const onnx::NodeProto &node,
                             int i) {
  if (i < 3) {
    return true;
  }
  const auto *training = findAttribute(node, "training_mode");
  if (training != nullptr && training->i() != 0) {
    return false; // they are computed anew
  }
  std::set<std::string> origins = graph.originsOf(node.input(i));
  return llvm::any_of(origins, [&](const std::string &origin) {
    return graph.initializers.count(origin) == 0 &&
           graph.captured.count(origin) == 0;
  });
}

const OpDef kOps[] = {{"BatchNormalization", 7, emitBatchNormalization, nullptr,
                       statisticsCarryGradient}};

} // namespace

llvm::ArrayRef<OpDef> batchNormOps() { return kOps; }

} // namespace zerograph::frontend
