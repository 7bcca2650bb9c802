//===- ForwardRegions.cpp - the forward pass, cut by blocks ---------------===//

#include "passes/zero/ForwardRegions.h"

#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/Queries.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "passes/zero/SelectRecomputed.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

ForwardRegions::ForwardRegions(nn::ProgramOp program, const UnitStates &states)
    : states(states), literals(program.front()) {
  for (BlockArgument argument : program.getArguments()) {
    auto state = program.getArgAttrOfType<StateAttr>(argument.getArgNumber(),
                                                     kStateAttr);
    if (state && state.getRole() == kParamRole) {
      units[argument] = state.getUnit();
    }
  }
  collect(program.front());
  for (size_t i = 0; i + 1 < regions.size(); ++i) {
    moveToNext(i);
  }
}

std::optional<size_t> ForwardRegions::of(Operation *op) const {
  auto region = regionOf.find(op);
  return region != regionOf.end() ? std::optional(region->second)
                                  : std::nullopt;
}

std::optional<int64_t> ForwardRegions::unitOf(Value value) const {
  auto unit = units.find(value);
  return unit != units.end() ? std::optional(unit->second) : std::nullopt;
}

bool ForwardRegions::isKept(Value value) const {
  std::optional<size_t> own = of(value.getDefiningOp());
  return !own || llvm::any_of(value.getUsers(), [&](Operation *user) {
    std::optional<size_t> other = of(user);
    return other && other != own;
  });
}

Operation *ForwardRegions::beforeViews(Operation *op) const {
  for (Operation *previous = op->getPrevNode();
       previous && positions.contains(previous) && previous->hasOneUse() &&
       (isa<ViewOp>(previous) || nn::recastsParameter(previous));
       previous = op->getPrevNode()) {
    op = previous;
  }
  return op;
}

void ForwardRegions::collect(Block &block) {
  first = nn::firstOfBackward(
      block, block.getTerminator()->getOperand(0).getDefiningOp());
  bool forward = true;
  for (auto [position, op] : llvm::enumerate(block)) {
    positions[&op] = position;
    forward &= &op != first;
    if (forward && entersRegion(op)) {
      regions.push_back({units.lookup(cast<ViewOp>(op).getFlat()), {}});
    }
    if (forward && !regions.empty()) {
      regions.back().ops.push_back(&op);
      regionOf[&op] = regions.size() - 1;
    }
    if (!forward) {
      backward.insert(&op);
    }
  }
}

/// Returns whether the op views a parameter of another block. Running
/// statistics do not count: they are read in blocks that have parameters.
bool ForwardRegions::entersRegion(Operation &op) const {
  auto view = dyn_cast<ViewOp>(op);
  std::optional<int64_t> unit =
      view ? unitOf(view.getFlat()) : std::optional<int64_t>();
  return unit && !states[*unit].getLocal() &&
         (regions.empty() ||
          states.block(regions.back().unit) != states.block(*unit));
}

/// Returns whether backward reads the value, perhaps converted.
bool ForwardRegions::isReadByBackward(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isOfBackward(user) ||
           (isa<nn::ConvertOp>(user) && isReadByBackward(user->getResult(0)));
  });
}

/// Returns a value that backward reads, that is not larger than `kept`, and of
/// which `kept` is made by cheap ops and with kept values alone, as a norm is
/// of its operand. If it is kept instead, the costly ops that it is made of are
/// not computed again. Returns null if there is none.
Value ForwardRegions::origin(Value kept, size_t index) const {
  Value origin;
  llvm::SetVector<Value> needed;
  Operation *op = kept.getDefiningOp();
  while (of(op) == index && isCheap(op)) {
    for (Value result : op->getResults()) {
      needed.remove(result);
    }
    for (Value operand : op->getOperands()) {
      if (of(operand.getDefiningOp()) && !isLiteral(operand) &&
          !isKept(operand)) {
        needed.insert(operand);
      }
    }
    if (needed.empty()) {
      return {};
    }
    Value only = needed.size() == 1 ? needed.front() : Value();
    if (only &&
        nn::tensorBytes(only.getType()) <= nn::tensorBytes(kept.getType()) &&
        isReadByBackward(only)) {
      origin = only;
    }
    Value last = *llvm::max_element(needed, [&](Value a, Value b) {
      return position(a.getDefiningOp()) < position(b.getDefiningOp());
    });
    op = last.getDefiningOp();
  }
  return isa<nn::NNDialect>(op->getDialect()) ? origin : Value();
}

/// Returns the cheap ops of a region that are made of what is kept in any case,
/// or could be kept instead.
DenseSet<Operation *> ForwardRegions::movable(size_t index) const {
  DenseSet<Value> origins;
  for (Operation *op : regions[index].ops) {
    for (Value result : op->getResults()) {
      if (isKept(result)) {
        origins.insert(origin(result, index));
      }
    }
  }
  DenseSet<Operation *> movable;
  for (Operation *op : regions[index].ops) {
    if (isCheap(op) && llvm::all_of(op->getOperands(), [&](Value value) {
          Operation *maker = value.getDefiningOp();
          return !maker || movable.contains(maker) || isLiteral(value) ||
                 isKept(value) || origins.contains(value);
        })) {
      movable.insert(op);
    }
  }
  return movable;
}

/// Moves cheap ops to the next region where it alone reads what they make, so
/// that this is not kept.
void ForwardRegions::moveToNext(size_t index) {
  DenseSet<Operation *> movable = this->movable(index);
  auto isOfNext = [&](Operation *op) { return of(op) == index + 1; };
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
  // These go where what they are made of goes.
  SmallVector<Operation *> stay, move;
  for (Operation *op : regions[index].ops) {
    if (saved.contains(op) &&
        llvm::any_of(op->getOperands(), [&](Value operand) {
          return isOfNext(operand.getDefiningOp());
        })) {
      regionOf[op] = index + 1;
    }
    (isOfNext(op) ? move : stay).push_back(op);
  }
  SmallVector<Operation *> &next = regions[index + 1].ops;
  next.insert(next.begin(), move.begin(), move.end());
  regions[index].ops = std::move(stay);
}
