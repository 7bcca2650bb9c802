//===- JoinColumns.cpp - columns of several matrices in one kernel --------===//

#include "passes/analysis/TargetInfo.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/JoinKernels.h"
#include "passes/kernels/Members.h"
#include "passes/kernels/Passes.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_JOINCOLUMNS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

/// The most matrices that a kernel reads: what a thread has under way of each
/// takes registers.
constexpr size_t kMostMatrices = 4;

/// Returns the matrix whose columns a kernel adds up; none if it is no such
/// kernel, stores as much as it reads, or reads through views other than names
/// and repetitions: threads that read 16 bytes of the others could not there.
std::optional<Reduction> matrixOf(nn::KernelOp kernel) {
  if (kernel.getForm() != nn::KernelForm::columns) {
    return std::nullopt;
  }
  std::optional<Reduction> matrix;
  for (auto reduce : kernel.getBody().front().getOps<nn::ReduceOp>()) {
    std::optional<Reduction> own = classify(reduce);
    if (!own || own->outer != 1 || (matrix && !(*own == *matrix))) {
      return std::nullopt;
    }
    matrix = own;
  }
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (!isElementwise(&op) && !isLiteral(&op) &&
        !isa<nn::ReduceOp, nn::ReshapeOp, nn::BroadcastOp>(op)) {
      return std::nullopt;
    }
  }
  bool adds = matrix && llvm::all_of(kernel.getResults(), [&](Value result) {
                return elementsOf(result) == matrix->inner;
              });
  return adds ? matrix : std::nullopt;
}

/// Returns whether two kernels read few enough matrices together.
bool fitTogether(nn::KernelOp a, nn::KernelOp b, const Reduction &matrix) {
  DenseSet<Value> read;
  for (nn::KernelOp kernel : {a, b}) {
    for (Value operand : kernel.getOperands()) {
      if (elementsOf(operand) >= matrix.reduced * matrix.inner) {
        read.insert(stripReshapes(operand));
      }
    }
  }
  return read.size() <= kMostMatrices;
}

/// Adds to `views` those of a value that come before `place`; returns false if
/// something else that uses it does.
bool isReadAfter(Value value, Operation *place,
                 SmallVectorImpl<Operation *> &views) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    Operation *inBlock = place->getBlock()->findAncestorOpInBlock(*user);
    if (inBlock && place->isBeforeInBlock(inBlock)) {
      return true;
    }
    if (!isa<nn::ReshapeOp>(user) || user->getBlock() != place->getBlock()) {
      return false;
    }
    views.push_back(user);
    return isReadAfter(user->getResult(0), place, views);
  });
}

/// Returns whether what the first of two ops reads can live until the second:
/// nothing between them releases, sends or overwrites it, and no product needs
/// the memory.
bool isNear(Operation *first, Operation *second) {
  for (Operation *op = first->getNextNode(); op != second;
       op = op->getNextNode()) {
    auto kernel = dyn_cast<nn::KernelOp>(op);
    bool isLarge = kernel ? kernel.getForm() == nn::KernelForm::attention
                          : isa<nn::MatmulOp, nn::ConvolutionOp>(op);
    if (isLarge || !isMemoryEffectFree(op)) {
      return false;
    }
  }
  return true;
}

/// Replaces two kernels, the second of which comes later, by one in the place
/// of the first or, if what the second reads is not there yet, in that of the
/// second. Returns it, or null if it can stand in neither.
nn::KernelOp join(nn::KernelOp first, nn::KernelOp second) {
  bool isReady = llvm::all_of(second.getOperands(), [&](Value operand) {
    Operation *op = stripReshapes(operand).getDefiningOp();
    return !op || op->getBlock() != first->getBlock() ||
           op->isBeforeInBlock(first);
  });
  if (isReady) {
    return joinKernels(first, second, first);
  }
  SmallVector<Operation *> views;
  bool canWait = isNear(first, second) &&
                 llvm::all_of(first.getResults(), [&](Value result) {
                   return isReadAfter(result, second, views);
                 });
  Operation *next = second->getNextNode();
  nn::KernelOp joined;
  if (canWait && (joined = joinKernels(first, second, second))) {
    for (Operation *view : views) {
      view->moveBefore(next);
    }
  }
  return joined;
}

struct JoinColumnsPass : nn::impl::JoinColumnsBase<JoinColumnsPass> {
  explicit JoinColumnsPass(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    if (!target.launchesKernels()) {
      markAllAnalysesPreserved();
      return;
    }
    for (Block &block : getOperation().getBody()) {
      runOn(block);
    }
    eraseUnreadNames(getOperation());
  }

private:
  /// Joins each kernel with the last one before it that goes over as many rows
  /// and columns.
  void runOn(Block &block) {
    std::vector<std::pair<Reduction, nn::KernelOp>> kernels;
    for (auto kernel :
         llvm::make_early_inc_range(block.getOps<nn::KernelOp>())) {
      std::optional<Reduction> matrix = matrixOf(kernel);
      if (!matrix) {
        continue;
      }
      auto found = llvm::find_if(
          kernels, [&](const auto &known) { return known.first == *matrix; });
      if (found == kernels.end()) {
        kernels.emplace_back(*matrix, kernel);
        continue;
      }
      nn::KernelOp &before = found->second, both;
      if (fitTogether(before, kernel, *matrix)) {
        both = join(before, kernel);
      }
      before = both ? both : kernel;
      joined += both ? 1 : 0;
    }
  }

  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createJoinColumns(const TargetInfo &target) {
  return std::make_unique<JoinColumnsPass>(target);
}
