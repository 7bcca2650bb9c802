//===- Interpreter.cpp - blocks, and ops of one element at a time ---------===//

#include "tests/support/Interpreter.h"

#include "tests/support/Frame.h"
#include "tests/support/Scalar.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

std::vector<Tensor> Frame::run(Block &block, ArrayRef<Tensor> arguments) {
  if (arguments.size() != block.getNumArguments()) {
    llvm::report_fatal_error("interpreter: wrong number of arguments");
  }
  for (auto [argument, tensor] : llvm::zip(block.getArguments(), arguments)) {
    if (tensor.type() != argument.getType() ||
        static_cast<int64_t>(tensor.values.size()) !=
            tensor.type().getNumElements()) {
      llvm::report_fatal_error("interpreter: an argument does not fit");
    }
    values[argument] = tensor;
  }
  for (Operation &op : block.without_terminator()) {
    execute(&op);
  }
  std::vector<Tensor> results;
  for (Value operand : block.getTerminator()->getOperands()) {
    results.push_back(values[operand]);
  }
  return results;
}

void Frame::execute(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<ConstantOp, IotaOp, UnaryOp, BinaryOp, CompareOp, SelectOp,
            ConvertOp, ScalarOp, RandomUniformOp, RandomLikeOp, DropoutOp,
            BroadcastOp, ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatOp,
            TakeRowsOp, JoinRowsOp, ReduceOp, CumsumOp, PoolOp, MatmulOp,
            ConvolutionOp, GatherOp, ScatterOp, AttentionOp, AttentionGradOp,
            SoftmaxOp, SoftmaxGradOp, LayerNormOp, LayerNormGradOp,
            SoftmaxCrossEntropyOp, SoftmaxCrossEntropyGradOp, KernelOp>(
          [&](auto concrete) { run(concrete); })
      .Default([](Operation *other) {
        llvm::report_fatal_error(llvm::Twine("interpreter: no case for ") +
                                 other->getName().getStringRef());
      });
}

void Frame::run(ConstantOp op) { values[op] = fromAttribute(op.getValue()); }

void Frame::run(IotaOp op) {
  Type element = op.getType().getElementType();
  fill(op, [&](ArrayRef<int64_t> index) {
    return roundTo(element, index[op.getDim()]);
  });
}

void Frame::run(UnaryOp op) {
  const Tensor x = get(op.getOperand());
  Tensor y = empty(op);
  for (size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] = applyUnary(op.getKind(), x.element, x.values[i]);
  }
  values[op] = y;
}

void Frame::run(BinaryOp op) {
  const Tensor a = get(op.getLhs()), b = get(op.getRhs());
  Tensor y = empty(op);
  for (size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] =
        applyBinary(op.getKind(), y.element, a.values[i], b.values[i]);
  }
  values[op] = y;
}

void Frame::run(CompareOp op) {
  const Tensor a = get(op.getLhs()), b = get(op.getRhs());
  Tensor y = empty(op);
  for (size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] = applyCompare(op.getKind(), a.values[i], b.values[i]);
  }
  values[op] = y;
}

void Frame::run(SelectOp op) {
  const Tensor c = get(op.getCondition());
  const Tensor a = get(op.getOnTrue()), b = get(op.getOnFalse());
  Tensor y = empty(op);
  for (size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] = c.values[i] != 0 ? a.values[i] : b.values[i];
  }
  values[op] = y;
}

void Frame::run(ConvertOp op) {
  const Tensor x = get(op.getOperand());
  Tensor y = empty(op);
  for (size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] = convertScalar(x.element, y.element, x.values[i]);
  }
  values[op] = y;
}

void Frame::run(ScalarOp op) {
  values[op] = filled(op.getType(), op.getName() == "seed"   ? kSeed
                                    : op.getName() == "step" ? kStep
                                                             : kSampleBase);
}

void Frame::run(KernelOp op) {
  std::vector<Tensor> arguments;
  for (Value operand : op.getOperands()) {
    arguments.push_back(get(operand));
  }
  std::vector<Tensor> results = evaluate(op, arguments);
  for (auto [value, tensor] : llvm::zip(op.getResults(), results)) {
    values[value] = tensor;
  }
}

std::vector<Tensor> mlir::zg::testing::evaluate(zg::nn::ProgramOp func,
                                                ArrayRef<Tensor> arguments) {
  return Frame().run(func.getBody().front(), arguments);
}

std::vector<Tensor> mlir::zg::testing::evaluate(KernelOp kernel,
                                                ArrayRef<Tensor> arguments) {
  return Frame().run(kernel.getBody().front(), arguments);
}
