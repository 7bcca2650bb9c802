//===- JoinKernels.cpp - one kernel that does what two do -----------------===//

#include "passes/kernels/JoinKernels.h"

#include "passes/kernels/Members.h"
#include "passes/kernels/Reading.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

class Joining {
public:
  Joining(nn::KernelOp first, nn::KernelOp second, Operation *place)
      : first(first), second(second), builder(place) {}

  nn::KernelOp run() {
    body = &region.emplaceBlock();
    inside.setInsertionPointToStart(body);
    SmallVector<Value> yields = clone(first);
    for (auto [result, value] : llvm::zip_equal(first.getResults(), yields)) {
      own[result] = value;
    }
    llvm::append_range(yields, clone(second));
    if (!isReadableByViews()) {
      return {};
    }
    Location loc = builder.getFusedLoc({second.getLoc(), first.getLoc()});
    inside.create<nn::YieldOp>(loc, yields);
    auto joined = builder.create<nn::KernelOp>(
        loc, ValueRange(yields).getTypes(), nn::KernelForm::columns, operands);
    joined.getBody().takeBody(region);
    size_t made = first.getNumResults();
    second.replaceAllUsesWith(joined.getResults().drop_front(made));
    second.erase();
    first.replaceAllUsesWith(joined.getResults().take_front(made));
    first.erase();
    return joined;
  }

private:
  /// Copies a kernel's ops, and returns what they yield.
  SmallVector<Value> clone(nn::KernelOp kernel) {
    Block &from = kernel.getBody().front();
    IRMapping mapping;
    for (auto [argument, operand] :
         llvm::zip_equal(from.getArguments(), kernel.getOperands())) {
      mapping.map(argument, read(operand));
    }
    for (Operation &op : from.without_terminator()) {
      inside.clone(op, mapping);
    }
    SmallVector<Value> yields;
    for (Value yielded : from.getTerminator()->getOperands()) {
      yields.push_back(mapping.lookupOrDefault(yielded));
    }
    return yields;
  }

  /// Returns whether every chain of views still has one formula: those of the
  /// second kernel go on in the first.
  bool isReadableByViews() {
    return llvm::all_of(*body, [](Operation &op) {
      return !isPlainView(&op) || isReadable(op.getResult(0), Inputs());
    });
  }

  /// Returns what an operand is within the kernel: what it makes, or an
  /// argument.
  Value read(Value operand) {
    Value buffer = stripReshapes(operand);
    Value value = own.lookup(buffer);
    if (!value) {
      Value &argument = arguments[buffer];
      if (!argument) {
        operands.push_back(buffer);
        argument = body->addArgument(buffer.getType(), buffer.getLoc());
      }
      value = argument;
    }
    return nn::NNBuilder(inside, operand.getLoc())
        .reshape(value, shapeOf(operand));
  }

  nn::KernelOp first, second;
  OpBuilder builder;
  OpBuilder inside{first.getContext()};
  Region region;
  Block *body = nullptr;
  SmallVector<Value> operands;
  /// Maps what the kernel reads to its arguments, and results of `first` to
  /// what is yielded for them.
  DenseMap<Value, Value> arguments, own;
};

} // namespace

nn::KernelOp kernels::joinKernels(nn::KernelOp first, nn::KernelOp second,
                                  Operation *place) {
  return Joining(first, second, place).run();
}

void kernels::eraseUnreadNames(nn::ProgramOp program) {
  for (Block &block : program.getBody()) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (isa<nn::ReshapeOp>(op) && op.use_empty()) {
        op.erase();
      }
    }
  }
}
