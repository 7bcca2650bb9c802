//===- StoreBesideColumns.cpp - kernels that store what they add up -------===//

#include "passes/analysis/TargetInfo.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Members.h"
#include "passes/kernels/Passes.h"
#include "passes/kernels/Reading.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

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

/// Writes the kernel that does what both do, unless it could not read what the
/// two read apart.
class Joined {
public:
  Joined(nn::KernelOp maker, nn::KernelOp columns)
      : maker(maker), columns(columns), builder(maker) {}

  bool write() {
    body = &region.emplaceBlock();
    inside.setInsertionPointToStart(body);
    SmallVector<Value> made = clone(maker);
    for (auto [result, value] : llvm::zip_equal(maker.getResults(), made)) {
      own[result] = value;
    }
    SmallVector<Value> yields = std::move(made);
    llvm::append_range(yields, clone(columns));
    if (!isReadableByViews()) {
      return false;
    }
    Location loc = builder.getFusedLoc({columns.getLoc(), maker.getLoc()});
    inside.create<nn::YieldOp>(loc, yields);
    auto joined = builder.create<nn::KernelOp>(
        loc, ValueRange(yields).getTypes(), nn::KernelForm::columns, operands);
    joined.getBody().takeBody(region);
    size_t stored = maker.getNumResults();
    columns.replaceAllUsesWith(joined.getResults().drop_front(stored));
    columns.erase();
    maker.replaceAllUsesWith(joined.getResults().take_front(stored));
    maker.erase();
    return true;
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

  nn::KernelOp maker, columns;
  OpBuilder builder;
  OpBuilder inside{maker.getContext()};
  Region region;
  Block *body = nullptr;
  SmallVector<Value> operands;
  /// Maps what the kernel reads to its arguments, and results of `maker` to
  /// what is yielded for them.
  DenseMap<Value, Value> arguments, own;
};

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
      joined += maker && Joined(maker, columns).write();
    }
    // Names are left over that only joined kernels read.
    for (Block &block : getOperation().getBody()) {
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
        if (isa<nn::ReshapeOp>(op) && op.use_empty()) {
          op.erase();
        }
      }
    }
  }

private:
  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createStoreBesideColumns(const TargetInfo &target) {
  return std::make_unique<StoreBesideColumnsPass>(target);
}
