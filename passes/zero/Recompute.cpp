//===- Recompute.cpp - the forward pass of units, computed again ----------===//

#include "mlir/IR/IRMapping.h"
#include "passes/ir/nn/LiteralValues.h"
#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroSpaces.h"
#include "passes/zero/GatherPlacement.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Program.h"
#include "passes/zero/SelectRecomputed.h"
#include "passes/zero/UnitStates.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

namespace mlir::zg::zero {

#define GEN_PASS_DEF_RECOMPUTE
#define GEN_PASS_DEF_FORGETRECALLS
#include "passes/zero/Passes.h.inc"

namespace {

/// Says what of a region is computed again.
enum class Repeated { nothing, cheap, all };

/// A run of forward ops: from the first use of a block's parameters to that of
/// another block's.
struct Region {
  int64_t unit; // used first
  SmallVector<Operation *> ops;
  Repeated repeated = Repeated::all;
  Operation *again = nullptr; ///< the first op that is computed again, if any
};

/// Finds the forward ops of a program that are computed again, and where.
class Recomputation {
public:
  Recomputation(nn::ProgramOp program, const UnitStates &states)
      : program(program), states(states), literals(program.front()) {
    for (BlockArgument argument : program.getArguments()) {
      auto state = program.getArgAttrOfType<StateAttr>(argument.getArgNumber(),
                                                       kStateAttr);
      if (state && state.getRole() == kParamRole) {
        unitOf[argument] = state.getUnit();
      }
    }
    collectRegions();
  }

  /// Recomputes all regions but the last, whose backward pass follows its
  /// forward pass at once: nothing is gained there. Of the share `ratio` of
  /// them, from the first on, `first` is computed again, and `rest` of the
  /// others. Returns how many ops are computed again.
  int64_t run(Repeated first, Repeated rest, double ratio) {
    size_t many =
        regions.empty() ? 0 : std::llround(ratio * double(regions.size() - 1));
    auto repeated = [&](size_t index) { return index < many ? first : rest; };
    for (size_t i = 0; i + 1 < regions.size(); ++i) {
      if (repeated(i) == Repeated::cheap) {
        select(i);
      }
    }
    for (auto [index, region] : llvm::enumerate(regions)) {
      region.repeated = repeated(index);
    }
    int64_t cloned = 0;
    for (size_t i = 0; i + 1 < regions.size(); ++i) {
      cloned += recompute(i);
    }
    return cloned;
  }

  /// Moves what goes from one region to the next to the host until backward
  /// needs it, except what the last region reads, whose backward pass follows
  /// at once. Runs after `run`.
  void offloadKept() {
    for (size_t i = 0; i + 1 < regions.size(); ++i) {
      for (Operation *op : regions[i].ops) {
        for (Value result : op->getResults()) {
          if (isWorthOffloading(result)) {
            offload(result);
          }
        }
      }
    }
  }

private:
  /// Collects the regions. Ops before the first use of a parameter are in none.
  void collectRegions() {
    Block &block = program.front();
    Operation *loss = block.getTerminator()->getOperand(0).getDefiningOp();
    first = nn::firstOfBackward(block, loss);
    bool forward = true;
    for (auto [position, op] : llvm::enumerate(block)) {
      positions[&op] = position;
      forward &= &op != first;
      if (forward && entersRegion(op)) {
        regions.push_back({unitOf.lookup(cast<ViewOp>(op).getFlat()), {}});
      }
      if (forward && !regions.empty()) {
        regions.back().ops.push_back(&op);
        regionOf[&op] = regions.size() - 1;
      }
      if (!forward) {
        backward.insert(&op);
      }
    }
    for (size_t i = 0; i + 1 < regions.size(); ++i) {
      moveToNext(i);
    }
  }

  /// Moves cheap ops that only the next region reads to that region, where they
  /// are made of what is kept in any case: so what they make is not kept. A
  /// norm written as a chain of ops stands before the first use of the block's
  /// parameters, which is the norm's weight.
  void moveToNext(size_t index) {
    DenseSet<Operation *> movable;
    auto isThere = [&](Value value) {
      Operation *op = value.getDefiningOp();
      return !op || movable.contains(op) || literals.contains(value) ||
             isKept(value);
    };
    for (Operation *op : regions[index].ops) {
      if (isCheap(op) && llvm::all_of(op->getOperands(), isThere)) {
        movable.insert(op);
      }
    }
    auto isOfNext = [&](Operation *op) {
      auto region = regionOf.find(op);
      return region != regionOf.end() && region->second == index + 1;
    };
    DenseSet<Operation *> saved; // movable, and read by backward alone
    for (Operation *op : llvm::reverse(regions[index].ops)) {
      bool moves = movable.contains(op) &&
                   llvm::all_of(op->getUsers(), [&](Operation *user) {
                     return isOfNext(user) || backward.contains(user) ||
                            saved.contains(user);
                   });
      if (moves && llvm::any_of(op->getUsers(), isOfNext)) {
        regionOf[op] = index + 1;
      } else if (moves) {
        saved.insert(op);
      }
    }
    for (Operation *op : regions[index].ops) {
      if (saved.contains(op) &&
          llvm::any_of(op->getOperands(), [&](Value operand) {
            return operand.getDefiningOp() && isOfNext(operand.getDefiningOp());
          })) {
        regionOf[op] = index + 1;
      }
    }
    SmallVector<Operation *> moved;
    llvm::copy_if(regions[index].ops, std::back_inserter(moved), isOfNext);
    llvm::erase_if(regions[index].ops,
                   [&](Operation *op) { return regionOf.lookup(op) != index; });
    SmallVector<Operation *> &next = regions[index + 1].ops;
    next.insert(next.begin(), moved.rbegin(), moved.rend());
  }

  /// Decides which ops of a region are cheap enough to be computed again.
  void select(size_t index) {
    SmallVector<Value> needed;
    for (OpOperand *use : lateUses(regions[index])) {
      needed.push_back(use->get());
    }
    DenseSet<Operation *> ops = selectRecomputed(
        needed,
        [&](Value value) {
          Operation *op = value.getDefiningOp();
          return !op || isa<ViewOp>(op) || literals.contains(value) ||
                 (regionOf.contains(op) && isKept(value));
        },
        [&](Value value) { return isRepeated(value, index); });
    selected.insert(ops.begin(), ops.end());
  }

  /// Returns whether an op of a region is one of those to be computed again.
  bool isSelected(Operation *op) const {
    Repeated repeated = regions[regionOf.lookup(op)].repeated;
    return repeated == Repeated::all || isa<ViewOp>(op) ||
           (repeated == Repeated::cheap && selected.contains(op));
  }

  /// Returns whether the op views a parameter of another block. Running
  /// statistics do not count: they are read in blocks that have parameters.
  bool entersRegion(Operation &op) const {
    auto view = dyn_cast<ViewOp>(op);
    auto unit = view ? unitOf.find(view.getFlat()) : unitOf.end();
    return unit != unitOf.end() && !states[unit->second].getLocal() &&
           (regions.empty() ||
            states.block(regions.back().unit) != states.block(unit->second));
  }

  /// Returns whether a value stays: one that a later region reads does, to
  /// compute that region again from it.
  bool isKept(Value value) const {
    Operation *op = value.getDefiningOp();
    auto own = op ? regionOf.find(op) : regionOf.end();
    if (own == regionOf.end()) {
      return true;
    }
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto other = regionOf.find(user);
      return other != regionOf.end() && other->second != own->second;
    });
  }

  /// Returns whether the op is pure: only those of the nn dialect are, and
  /// views of parameters.
  static bool canRepeat(Operation *op) {
    return isa<nn::NNDialect>(op->getDialect()) || isa<ViewOp>(op);
  }

  /// Returns backward's uses of what a region need not keep, in the order of
  /// their ops.
  SmallVector<OpOperand *> lateUses(const Region &region) const {
    SmallVector<OpOperand *> uses;
    for (Operation *op : region.ops) {
      for (Value result : op->getResults()) {
        if (!isa<nn::NNDialect>(op->getDialect()) || isKept(result) ||
            !isSelected(op)) {
          continue;
        }
        for (OpOperand &use : result.getUses()) {
          // Next values of running statistics are of the forward pass.
          if (backward.contains(use.getOwner()) &&
              !isa<PackOp, nn::ReturnOp>(use.getOwner())) {
            uses.push_back(&use);
          }
        }
      }
    }
    llvm::stable_sort(uses, [&](OpOperand *a, OpOperand *b) {
      return positions.lookup(a->getOwner()) < positions.lookup(b->getOwner());
    });
    return uses;
  }

  /// Returns the first of the views of parameters before the op, else the op.
  /// They stand right before the op that reads them, so that a gather stands
  /// before the first of them. A view that was cloned for another operand of
  /// the op is not among them.
  Operation *beforeViews(Operation *op) const {
    for (Operation *previous = op->getPrevNode();
         previous && positions.contains(previous) && previous->hasOneUse() &&
         (isa<ViewOp>(previous) || nn::recastsParameter(previous));
         previous = op->getPrevNode()) {
      op = previous;
    }
    return op;
  }

  /// Computes each op again right before the first use that needs it.
  int64_t recompute(size_t index) {
    int64_t cloned = 0;
    IRMapping again;
    for (OpOperand *use : lateUses(regions[index])) {
      OpBuilder builder(beforeViews(use->getOwner()));
      for (Operation *op : missing(use->get(), index, again)) {
        for (Value operand : op->getOperands()) {
          recall(operand, index, builder, again);
        }
        Operation *clone = builder.clone(*op, again);
        if (!regions[index].again) {
          regions[index].again = clone;
        }
        cloned += isa<nn::NNDialect>(op->getDialect()); // no views
      }
      use->set(again.lookup(use->get()));
    }
    return cloned;
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
      return positions.lookup(a) < positions.lookup(b);
    });
    return order;
  }

  /// Returns whether the value is a parameter that is gathered for those who
  /// read it.
  bool isGathered(Value value) const {
    ViewOp view = viewBehind(value);
    auto unit = view ? unitOf.find(view.getFlat()) : unitOf.end();
    return unit != unitOf.end() && states.shardsParameters(unit->second);
  }

  /// Returns whether the value is made again. A gathered parameter is read by a
  /// view of backward's own, whichever region forward's is in: that one's
  /// buffer is released before.
  bool isRepeated(Value value, size_t index) const {
    if (isGathered(value)) {
      return true;
    }
    Operation *op = value.getDefiningOp();
    auto region = op ? regionOf.find(op) : regionOf.end();
    return region != regionOf.end() && region->second == index &&
           canRepeat(op) && !isKept(value) && isSelected(op);
  }

  /// Gives a kept value another name for ops that are computed again: with the
  /// same operands they would be the same ops, and kept themselves. Values that
  /// are made of literals are not kept; a recall of one would be.
  void recall(Value value, size_t index, OpBuilder &builder,
              IRMapping &again) const {
    if (again.contains(value) || unitOf.contains(value) ||
        literals.contains(value) || isRepeated(value, index)) {
      return;
    }
    again.map(value, builder.create<RecallOp>(value.getLoc(), value.getType(),
                                              value, regions[index].unit));
  }

  bool isOfForward(Operation *op) const {
    return positions.contains(op) && !backward.contains(op);
  }

  /// Returns whether a value goes from one region to another, but not to the
  /// last, and is large enough for a transfer of its own.
  bool isWorthOffloading(Value value) const {
    constexpr int64_t kLeastBytes = 1024;
    Operation *op = value.getDefiningOp();
    return isa<nn::NNDialect>(op->getDialect()) && !literals.contains(value) &&
           isKept(value) && nn::tensorBytes(value.getType()) >= kLeastBytes &&
           llvm::none_of(value.getUsers(), [&](Operation *user) {
             auto region = regionOf.find(user);
             return isa<PackOp, nn::ReturnOp>(user) ||
                    (region != regionOf.end() &&
                     region->second + 1 == regions.size());
           });
  }

  /// Lets backward read a copy of the value that comes back from the host.
  void offload(Value value) {
    SmallVector<OpOperand *> uses;
    Operation *firstUser = nullptr;
    size_t reader = 0; // the last region that reads it: backward's first
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isOfForward(user)) {
        reader = std::max(reader, regionOf.lookup(user));
        continue;
      }
      uses.push_back(&use);
      firstUser =
          !firstUser || user->isBeforeInBlock(firstUser) ? user : firstUser;
    }
    if (!firstUser) {
      return;
    }
    // It comes back while the backward pass of the region after runs.
    Operation *early = first;
    for (size_t i = regions.size() - 1; i > reader; --i) {
      early = regions[i].again ? regions[i].again : early;
    }
    OpBuilder builder(program.getContext());
    builder.setInsertionPointAfterValue(value);
    Value down = createTransfer<OffloadOp>(builder, value.getLoc(), value,
                                           "kept for backward");
    builder.setInsertionPoint(
        early->isBeforeInBlock(firstUser) ? early : beforeViews(firstUser));
    StringRef unit = states.name(regions[reader].unit);
    Value up = createTransfer<FetchOp>(builder, value.getLoc(), down,
                                       ("backward of " + unit).str());
    for (OpOperand *use : uses) {
      use->set(up);
    }
  }

  nn::ProgramOp program;
  const UnitStates &states;
  const nn::LiteralValues literals;
  Operation *first = nullptr;      ///< of backward
  DenseMap<Value, int64_t> unitOf; ///< by whole parameters
  DenseMap<Operation *, int64_t> positions;
  DenseSet<Operation *> backward;
  std::vector<Region> regions;
  DenseMap<Operation *, size_t> regionOf;
  DenseSet<Operation *> selected; ///< the cheap ones of all regions
};

//===----------------------------------------------------------------------===//
// --zero-recompute
//===----------------------------------------------------------------------===//

struct Recompute : impl::RecomputeBase<Recompute> {
  using RecomputeBase::RecomputeBase;

  void runOnOperation() override {
    if (recompute.getValue() == "none") {
      return;
    }
    bool selective = recompute.getValue() == "selective";
    if (!selective && recompute.getValue() != "units") {
      getOperation().emitError("computes again '")
          << recompute.getValue() << "'; there are none, selective and units";
      return signalPassFailure();
    }
    FailureOr<Program> micro = Program::find(getOperation(), kMicroProgram);
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    if (failed(micro) || failed(states)) {
      return signalPassFailure();
    }
    Recomputation recomputation(micro->function(), *states);
    int64_t ops = selective
                      ? recomputation.run(Repeated::cheap, Repeated::nothing,
                                          recompute_ratio)
                      : recomputation.run(Repeated::all, Repeated::cheap,
                                          recompute_ratio);
    if (offload_activations.getValue() != "none") {
      recomputation.offloadKept();
    }
    if (ops > 0) {
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
