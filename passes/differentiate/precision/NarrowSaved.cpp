//===- NarrowSaved.cpp - what backward reads again has 16 bits ------------===//

#include "passes/differentiate/Passes.h"
#include "passes/differentiate/precision/Precision.h"
#include "passes/ir/nn/Queries.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_NARROWSAVED
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Returns whether the reader asks which numbers are equal: rounded and
/// unrounded ones are not.
bool isCompared(OpOperand &use) {
  Operation *user = use.getOwner();
  return isa<CompareOp>(user) ||
         (moves(user) && llvm::any_of(user->getUses(), isCompared));
}

/// Returns whether the reader is a cross entropy, whose gradient divides by 1 -
/// p: where p is nearly 1, rounding would leave nothing of that.
bool isProbability(OpOperand &use) {
  Operation *user = use.getOwner();
  auto binary = dyn_cast<BinaryOp>(user);
  return (binary && binary.getKind() == BinaryKind::cross_entropy) ||
         (moves(user) && llvm::any_of(user->getUses(), isProbability));
}

/// Returns whether the reader makes probabilities of it again, with a maximum
/// and a sum of what is not rounded: they add up to 1 only of the same.
bool isOfScores(OpOperand &use) {
  return isa<AttentionGradOp>(use.getOwner()) && use.getOperandNumber() > 2;
}

class Narrowing {
public:
  Narrowing(ProgramOp micro, Type half) : micro(micro), half(half) {}

  void run() {
    for (BlockArgument argument : micro.getArguments()) {
      if (micro.getArgAttr(argument.getArgNumber(), kParameterAttr)) {
        active.insert(argument);
      }
    }
    Block &body = micro.getBody().front();
    Operation *loss = body.getTerminator()->getOperand(0).getDefiningOp();
    for (Operation &op : llvm::make_early_inc_range(body)) {
      visit(&op);
      for (Value result : op.getResults()) {
        if (active.contains(result) && !statistics.contains(result) &&
            elementOf(result).isF32() && !narrowSource(result) &&
            llvm::none_of(result.getUses(), isProbability)) {
          narrow(result, loss);
        }
      }
      if (&op == loss) {
        break;
      }
    }
  }

private:
  /// Says of its results whether they depend on a parameter, and whether they
  /// are what is left of many numbers: a mean, a sum, and what follows from
  /// those.
  void visit(Operation *op) {
    bool depends = false, ofStatistics = true;
    int64_t most = 0;
    for (Value operand : op->getOperands()) {
      if (active.contains(operand)) {
        depends = true;
        ofStatistics &= statistics.contains(operand);
        most = std::max(most, elementsOf(operand));
      }
    }
    for (Value result : op->getResults()) {
      if (!depends) {
        continue;
      }
      active.insert(result);
      bool reduced = !moves(op) && !isProduct(op) && elementsOf(result) < most;
      if (ofStatistics || reduced) {
        statistics.insert(result);
      }
    }
  }

  /// Gives readers after the loss the rounded number, and so a softmax cross
  /// entropy: its gradient takes exp((x - max) - log_sum) for probabilities,
  /// which add up to 1 only where both read the same x.
  void narrow(Value value, Operation *loss) {
    SmallVector<OpOperand *> uses;
    bool saved = false;
    for (OpOperand &use : value.getUses()) {
      bool behind = loss->isBeforeInBlock(use.getOwner()) && !isCompared(use) &&
                    !isOfScores(use);
      saved |= behind;
      if (behind || isa<SoftmaxCrossEntropyOp>(use.getOwner())) {
        uses.push_back(&use);
      }
    }
    if (!saved) {
      return;
    }
    OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    NNBuilder b(builder, value.getLoc());
    Value again = b.convert(b.convert(value, half), elementOf(value));
    for (OpOperand *use : uses) {
      use->set(again);
    }
  }

  ProgramOp micro;
  Type half;
  DenseSet<Value> active;
  DenseSet<Value> statistics;
};

/// Returns whether a product reads the value rounded.
bool isMultipliedRounded(Value value, Type half) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isa<ConvertOp>(user) && elementOf(user->getResult(0)) == half &&
           llvm::any_of(user->getUsers(), isProduct);
  });
}

/// Returns whether the value is the gradient of a softmax cross entropy, whose
/// rows add up to 0 only before they are rounded.
bool isOfProbabilities(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && moves(op)) {
    op = op->getOperand(0).getDefiningOp();
  }
  return isa_and_present<SoftmaxCrossEntropyGradOp>(op);
}

/// Adds up over rows what products read: a gradient would be stored in two
/// types if the gradient of a bias took it before it is rounded.
void narrowSums(ProgramOp micro, Type half) {
  for (auto reduce : micro.getBody().front().getOps<ReduceOp>()) {
    Value value = reduce.getOperand();
    int64_t last = cast<RankedTensorType>(value.getType()).getRank() - 1;
    if (reduce.getKind() != ReduceKind::sum || !elementOf(value).isF32() ||
        llvm::is_contained(reduce.getDims(), last)) {
      continue;
    }
    if (isMultipliedRounded(value, half) && !isOfProbabilities(value)) {
      OpBuilder builder(reduce);
      NNBuilder b(builder, reduce.getLoc());
      Value again = b.convert(b.convert(value, half), elementOf(value));
      reduce.getOperandMutable().assign(again);
    }
  }
}

struct NarrowSavedPass : mlir::zg::nn::impl::NarrowSavedBase<NarrowSavedPass> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<ProgramOp>(kMicroFunction);
    if (Type half = precisionOf(getOperation()); half && micro) {
      Narrowing(micro, half).run();
      narrowSums(micro, half);
    }
  }
};

} // namespace
