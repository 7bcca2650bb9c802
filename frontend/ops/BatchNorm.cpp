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
  Value sum = emit.reduce(ReduceKind::sum, x, {2}, true);
  sum = emit.reduce(ReduceKind::sum, sum, {0}, true);
  return emit.mul(sum, 1.0 / static_cast<double>(shape[0] * shape[2]));
}

/// Whether a value was computed by a reduction, as statistics of a batch are
/// and those that a module stores are not.
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

/// Whether statistics are those of the batch.
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
      !op.allowsExporterDamage() &&
      !(isReduced(op.value(3)) && isReduced(op.value(4)))) {
    fail("is in inference mode while its scale is trained: its statistics "
         "would never change. PyTorch's dynamo exporter forces this mode; "
         "export with dynamo=False and "
         "training=torch.onnx.TrainingMode.TRAINING, or keep the statistics "
         "with --allow-exporter-damage");
  }
  return training;
}

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, one a channel. The
/// running statistics move towards the batch's, whose variance is that of the
/// population; where they are parameters, they are kept for the next
/// micro-batch.
void emitBatchNormalization(Op &op) {
  bool training = isTraining(op);
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  if (shape.size() < 2 || !Emitter::isFloat(x)) {
    fail("needs floats of shape [samples, channels, places...], not ",
         shapeText(shape));
  }
  mlir::Type element = Emitter::elementOf(x), wide = element;
  checkPerChannel(op, 1, 4, shape[1]);
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
    channel[i] = emit.reshape(emit.convert(channel[i], wide), {1, shape[1], 1});
  }
  int64_t places = elementCount(shape) / (shape[0] * shape[1]);
  Value flat =
      emit.convert(emit.reshape(x, {shape[0], shape[1], places}), wide);
  Value mean = training ? channelMean(emit, flat) : channel[3];
  Value centered = emit.sub(flat, mean);
  Value variance =
      training ? channelMean(emit, emit.mul(centered, centered)) : channel[4];
  Value root = emit.unary(
      UnaryKind::sqrt, emit.add(variance, op.floatAttribute("epsilon", 1e-5f)));
  Value y = emit.mul(centered, emit.div(channel[1], root));
  y = emit.convert(emit.add(y, channel[2]), element);
  op.set(0, emit.reshape(y, shape));

  double momentum = op.floatAttribute("momentum", 0.9f);
  Value statistics[] = {mean, variance};
  for (int i : {0, 1}) {
    if (!op.wantsOutput(i + 1)) {
      continue;
    }
    // A module that runs twice moves them twice.
    Value old = op.newest(i + 3);
    Value batch = emit.convert(emit.reshape(statistics[i], {shape[1]}),
                               Emitter::elementOf(old));
    Value moved =
        emit.add(emit.mul(old, momentum), emit.mul(batch, 1 - momentum));
    op.set(i + 1, moved);
    // Those that the graph computes of the batch are no state of a module.
    if (!op.keep(i + 3, moved) && !isReduced(old)) {
      op.warn("its running statistics are no initializer, or are carried "
              "through a loop: they are not kept from one micro-batch to the "
              "next");
    }
  }
}

/// To the running statistics only if the node uses them, and if the graph
/// computes them of its inputs: those that a module stores have no gradient.
bool statisticsCarryGradient(const Graph &graph, const onnx::NodeProto &node,
                             int i) {
  if (i < 3) {
    return true;
  }
  for (const auto &attribute : node.attribute()) {
    if (attribute.name() == "training_mode" && attribute.i() != 0) {
      return false; // they are computed anew
    }
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
