//===- StoreBesideColumns.cpp - kernels that store what they add up -------===//

#include "passes/analysis/TargetInfo.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/JoinKernels.h"
#include "passes/kernels/Members.h"
#include "passes/kernels/Passes.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_STOREBESIDECOLUMNS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

/// Returns whether the kernel computes element by element, as many elements for
/// each result.
bool isElementByElement(nn::KernelOp kernel, int64_t elements) {
  auto fits = [](Operation &op) {
    return isElementwise(&op) || isPlainView(&op) || isLiteral(&op);
  };
  return kernel.getForm() == nn::KernelForm::rows &&
         llvm::all_of(kernel.getBody().front().without_terminator(), fits) &&
         llvm::all_of(kernel.getResults(), [&](Value result) {
           return elementsOf(result) == elements;
         });
}

/// Returns the shape that the kernel reduces, if it reduces all rows of a
/// matrix of several.
std::optional<ArrayRef<int64_t>> matrixOf(nn::KernelOp columns) {
  for (auto reduce : columns.getBody().front().getOps<nn::ReduceOp>()) {
    ArrayRef<int64_t> shape = shapeOf(reduce.getOperand());
    if (shape.size() == 2 && shape[0] > 1) {
      return shape;
    }
  }
  return std::nullopt;
}

/// Returns whether element i of an argument is read where element i of what the
/// kernel goes over is computed.
bool keepsPlaces(BlockArgument argument) {
  DenseSet<Value> read = {argument};
  for (Operation &op : argument.getOwner()->without_terminator()) {
    if (isa<nn::ReduceOp>(op) ||
        llvm::none_of(op.getOperands(),
                      [&](Value value) { return read.contains(value); })) {
      continue;
    }
    if (!isa<nn::ReshapeOp>(op) && !isElementwise(&op)) {
      return false;
    }
    read.insert(op.getResult(0));
  }
  return true;
}

/// Returns the kernel that makes what a kernel over columns goes over, if the
/// latter can do that too, in its place. Null: there is none.
nn::KernelOp makerOf(nn::KernelOp columns, const TargetInfo &target) {
  std::optional<ArrayRef<int64_t>> matrix = matrixOf(columns);
  nn::KernelOp maker;
  for (OpOperand &operand : columns->getOpOperands()) {
    auto kernel = stripReshapes(operand.get()).getDefiningOp<nn::KernelOp>();
    if (!matrix || !kernel || (maker && kernel != maker) ||
        !isElementByElement(kernel, (*matrix)[0] * (*matrix)[1])) {
      continue;
    }
    BlockArgument read =
        columns.getBody().front().getArgument(operand.getOperandNumber());
    auto type = cast<RankedTensorType>(read.getType());
    if (!keepsPlaces(read) ||
        !target.splitsRowsOfColumns((*matrix)[0], (*matrix)[1],
                                    nn::elementBytes(type.getElementType()))) {
      return {};
    }
    maker = kernel;
  }
  // It stands where the other one does, for who else reads that.
  bool isReady = maker && maker->getBlock() == columns->getBlock() &&
                 llvm::all_of(columns.getOperands(), [&](Value operand) {
                   Operation *op = stripReshapes(operand).getDefiningOp();
                   return !op || op->getBlock() != maker->getBlock() ||
                          op == maker || op->isBeforeInBlock(maker);
                 });
  return isReady ? maker : nn::KernelOp();
}

struct StoreBesideColumnsPass
    : nn::impl::StoreBesideColumnsBase<StoreBesideColumnsPass> {
  explicit StoreBesideColumnsPass(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    SmallVector<nn::KernelOp> kernels;
    getOperation().walk([&](nn::KernelOp kernel) {
      if (kernel.getForm() == nn::KernelForm::columns) {
        kernels.push_back(kernel);
      }
    });
    for (nn::KernelOp columns : kernels) {
      nn::KernelOp maker = makerOf(columns, target);
      if (maker && joinKernels(maker, columns, maker)) {
        ++joined;
      }
    }
    eraseUnreadNames(getOperation());
  }

private:
  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createStoreBesideColumns(const TargetInfo &target) {
  return std::make_unique<StoreBesideColumnsPass>(target);
}
