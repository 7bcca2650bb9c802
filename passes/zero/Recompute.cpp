//===- Recompute.cpp - the forward pass of units, computed again ----------===//

#include "mlir/IR/IRMapping.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "passes/zero/CloneForUses.h"
#include "passes/zero/ForwardRegions.h"
#include "passes/zero/GatherPlacement.h"
#include "passes/zero/OffloadKept.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Program.h"
#include "passes/zero/SelectRecomputed.h"
#include "passes/zero/UnitStates.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <optional>

namespace mlir::zg::zero {

#define GEN_PASS_DEF_RECOMPUTE
#define GEN_PASS_DEF_FORGETRECALLS
#include "passes/zero/Passes.h.inc"

namespace {

/// Says which ops of a region are computed again.
enum class Repeated {
  /// A kernel of backward that reads the operands of functions of elements
  /// anyway writes their results too.
  elementwise,
  cheap, ///< those that cost about as much as reading their operands
  all
};

/// Decides which forward ops of a program are computed again, and where.
class Recomputation {
public:
  Recomputation(nn::ProgramOp program, const UnitStates &states)
      : states(states), regions(program, states),
        repeated(regions.size(), Repeated::all) {}

  const ForwardRegions &forward() const { return regions; }

  /// Recomputes all regions but the last, whose backward pass follows its
  /// forward pass at once: nothing is gained there. Of the share `ratio` of
  /// them, from the first on, `first` is computed again, and `rest` of the
  /// others. Returns how many ops are computed again.
  int64_t run(Repeated first, Repeated rest, double ratio) {
    size_t last = std::max<size_t>(regions.size(), 1) - 1;
    size_t many = std::llround(ratio * double(last));
    auto wanted = [&](size_t index) { return index < many ? first : rest; };
    keepsBorders = first == Repeated::all;
    // Takes the last region first: what it is computed of again is there for
    // those before it.
    for (size_t i = last; i-- > 0;) {
      if (wanted(i) != Repeated::all) {
        select(i, wanted(i));
      }
    }
    for (size_t i = 0; i < last; ++i) {
      repeated[i] = wanted(i);
    }
    int64_t cloned = 0;
    for (size_t i = 0; i < last; ++i) {
      cloned += recompute(i);
    }
    // Moves them at last, since `lateUses` gives uses in the order of their
    // ops, and the last one first, so that none stops one before it.
    for (Operation *product : llvm::reverse(products)) {
      delay(product);
    }
    return cloned;
  }

private:
  /// Decides which ops of a region are cheap enough to be computed again.
  void select(size_t index, Repeated wanted) {
    SmallVector<Value> needed;
    for (OpOperand *use : lateUses(index)) {
      needed.push_back(use->get());
    }
    DenseSet<Operation *> ops = selectRecomputed(
        needed, /*sparesWrites=*/wanted == Repeated::elementwise,
        [&](Value value) { return isThere(value); },
        [&](Value value) {
          Operation *op = value.getDefiningOp();
          bool isLight = wanted == Repeated::cheap
                             ? isCheap(op)
                             : isFunctionOfElements(op) && !isJoined(value);
          return isLight && isRepeated(value, index);
        });
    selected.insert(ops.begin(), ops.end());
    for (Operation *op : ops) {
      for (Value operand : op->getOperands()) {
        if (!ops.contains(operand.getDefiningOp())) {
          bases.insert(operand);
        }
      }
    }
  }

  /// Returns whether the value is some rows of another. What makes it makes it
  /// there, and a second time it would take a kernel of its own.
  static bool isJoined(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return isa<nn::JoinRowsOp>(user);
    });
  }

  /// Returns whether backward has the value, whatever is selected.
  bool isThere(Value value) const {
    Operation *op = value.getDefiningOp();
    return !op || isa<ViewOp>(op) || regions.isLiteral(value) ||
           bases.contains(value) ||
           (regions.of(op) && regions.isKept(value) &&
            (keepsBorders ||
             llvm::any_of(value.getUsers(), [&](Operation *user) {
               return readsInBackward(user);
             })));
  }

  /// Returns whether an op of a region is one of those to be computed again.
  bool isSelected(Operation *op) const {
    return repeated[*regions.of(op)] == Repeated::all || isa<ViewOp>(op) ||
           selected.contains(op);
  }

  /// Returns whether an op of backward computes with what it reads. Next values
  /// of running statistics are of the forward pass.
  bool readsInBackward(Operation *op) const {
    return regions.isOfBackward(op) && !isa<PackOp, nn::ReturnOp>(op);
  }

  /// Returns whether the op is pure: only those of the nn dialect are, and
  /// views of parameters.
  static bool canRepeat(Operation *op) {
    return isa<nn::NNDialect>(op->getDialect()) || isa<ViewOp>(op);
  }

  /// Returns backward's uses of what a region need not keep, in the order of
  /// their ops.
  SmallVector<OpOperand *> lateUses(size_t index) const {
    SmallVector<OpOperand *> uses;
    for (Operation *op : regions.all()[index].ops) {
      for (Value result : op->getResults()) {
        if (!isa<nn::NNDialect>(op->getDialect()) || regions.isKept(result) ||
            !isSelected(op)) {
          continue;
        }
        for (OpOperand &use : result.getUses()) {
          if (readsInBackward(use.getOwner())) {
            uses.push_back(&use);
          }
        }
      }
    }
    llvm::stable_sort(uses, [&](OpOperand *a, OpOperand *b) {
      return regions.position(a->getOwner()) < regions.position(b->getOwner());
    });
    return uses;
  }

  /// Computes each op again right before the first use that needs it.
  int64_t recompute(size_t index) {
    int64_t cloned = 0;
    IRMapping again;
    for (OpOperand *use : lateUses(index)) {
      OpBuilder builder(regions.beforeViews(use->getOwner()));
      for (Operation *op : missing(use->get(), index, again)) {
        for (Value operand : op->getOperands()) {
          recall(operand, index, builder, again);
        }
        builder.clone(*op, again);
        cloned += isa<nn::NNDialect>(op->getDialect()); // no views
      }
      use->set(again.lookup(use->get()));
      // Values are to live for a short time where all are computed again.
      if (repeated[index] != Repeated::all && nn::isProduct(use->getOwner())) {
        products.insert(use->getOwner());
      }
    }
    return cloned;
  }

  /// Moves a product after the ops that follow it and share a kernel. The ops
  /// of a gradient read what its factor is computed of, so that one kernel
  /// reads it and writes both.
  static void delay(Operation *product) {
    Operation *last = product;
    for (Operation *next = product->getNextNode();;
         next = next->getNextNode()) {
      // Views of parameters stay before the op that reads them.
      bool passes = isa<RecallOp>(next) || (next->getNumResults() == 1 &&
                                            viewBehind(next->getResult(0)));
      if ((!passes && !nn::sharesKernel(next)) ||
          llvm::is_contained(next->getOperands(), product->getResult(0))) {
        break;
      }
      last = passes ? last : next;
    }
    if (last != product) {
      product->moveAfter(last);
    }
  }

  /// Returns the ops of the region that make `value` and are not computed again
  /// yet, in order.
  SmallVector<Operation *> missing(Value value, size_t index,
                                   const IRMapping &again) const {
    llvm::SetVector<Operation *> ops;
    SmallVector<Value> open = {value};
    while (!open.empty()) {
      Value next = open.pop_back_val();
      Operation *op = next.getDefiningOp();
      if (again.contains(next) || !isRepeated(next, index) || !ops.insert(op)) {
        continue;
      }
      llvm::append_range(open, op->getOperands());
    }
    SmallVector<Operation *> order(ops.begin(), ops.end());
    llvm::sort(order, [&](Operation *a, Operation *b) {
      return regions.position(a) < regions.position(b);
    });
    return order;
  }

  /// Returns whether the value is a parameter that is gathered for those who
  /// read it.
  bool isGathered(Value value) const {
    ViewOp view = viewBehind(value);
    std::optional<int64_t> unit =
        view ? regions.unitOf(view.getFlat()) : std::optional<int64_t>();
    return unit && states.shardsParameters(*unit);
  }

  /// Returns whether the value is made again. A gathered parameter is read by a
  /// view of backward's own, whichever region forward's is in: that one's
  /// buffer is released before.
  bool isRepeated(Value value, size_t index) const {
    if (isGathered(value)) {
      return true;
    }
    Operation *op = value.getDefiningOp();
    return regions.of(op) == index && canRepeat(op) && !regions.isKept(value) &&
           isSelected(op);
  }

  /// Gives a kept value another name for ops that are computed again: with the
  /// same operands they would be the same ops, and kept themselves. Values that
  /// are made of literals are not kept; a recall of one would be.
  void recall(Value value, size_t index, OpBuilder &builder,
              IRMapping &again) const {
    if (again.contains(value) || regions.unitOf(value) ||
        regions.isLiteral(value) || isRepeated(value, index)) {
      return;
    }
    auto recalled = builder.create<RecallOp>(value.getLoc(), value.getType(),
                                             value, regions.all()[index].unit);
    again.map(value, recalled);
    // A kernel would read it twice under two names.
    value.replaceUsesWithIf(recalled, [&](OpOperand &use) {
      return readsInBackward(use.getOwner()) &&
             recalled->isBeforeInBlock(use.getOwner());
    });
  }

  const UnitStates &states;
  const ForwardRegions regions;
  std::vector<Repeated> repeated; ///< by region
  bool keepsBorders = false;      ///< what goes from region to region
  DenseSet<Operation *> selected; ///< the cheap ones of all regions
  DenseSet<Value> bases;          ///< what those are computed of
  /// Products of backward that read what is computed again.
  llvm::SetVector<Operation *> products;
};

/// Gives every reader of a broadcast, perhaps reshaped, its own, so that
/// regions share what is broadcast, which is smaller. Those of one region are
/// joined again by the next CSE.
void localizeBroadcasts(nn::ProgramOp program) {
  SmallVector<Operation *> broadcasts;
  for (Operation &op : program.front()) {
    if (isa<nn::BroadcastOp, nn::ReshapeOp>(op) &&
        nn::stripReshapes(op.getResult(0)).getDefiningOp<nn::BroadcastOp>()) {
      broadcasts.push_back(&op);
    }
  }
  // Readers first: a broadcast is then read by copies of its reshape.
  for (Operation *op : llvm::reverse(broadcasts)) {
    if (!op->hasOneUse()) {
      cloneForUses(op);
    }
  }
}

//===----------------------------------------------------------------------===//
// --zero-recompute
//===----------------------------------------------------------------------===//

struct Recompute : impl::RecomputeBase<Recompute> {
  using RecomputeBase::RecomputeBase;

  void runOnOperation() override {
    StringRef name = recompute.getValue();
    if (name != "none" && name != "selective" && name != "units") {
      getOperation().emitError("computes again '")
          << name << "'; there are none, selective and units";
      return signalPassFailure();
    }
    Repeated first = name == "units"       ? Repeated::all
                     : name == "selective" ? Repeated::cheap
                                           : Repeated::elementwise;
    Repeated rest = name == "units" ? Repeated::cheap : Repeated::elementwise;
    FailureOr<Program> micro = Program::find(getOperation(), kMicroProgram);
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    if (failed(micro) || failed(states)) {
      return signalPassFailure();
    }
    localizeBroadcasts(micro->function());
    Recomputation recomputation(micro->function(), *states);
    int64_t ops = recomputation.run(first, rest, recompute_ratio);
    if (offload_activations.getValue() != "none") {
      offloadKept(recomputation.forward(), *states);
    }
    if (ops > 0 && name != "none") {
      getOperation()->setAttr(kRecomputedAttr,
                              OpBuilder(&getContext()).getI64IntegerAttr(ops));
    }
    cloned += ops;
  }
};

//===----------------------------------------------------------------------===//
// --zero-forget-recalls
//===----------------------------------------------------------------------===//

struct ForgetRecalls : impl::ForgetRecallsBase<ForgetRecalls> {
  void runOnOperation() override {
    getOperation().walk([](RecallOp recall) {
      recall.replaceAllUsesWith(recall.getOperand());
      recall.erase();
    });
  }
};

} // namespace
} // namespace mlir::zg::zero
