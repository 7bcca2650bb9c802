//===- RowRegion.cpp - ops that are computed by blocks of rows together ---===//

#include "passes/differentiate/RowRegion.h"

#include "passes/ir/nn/Queries.h"

using namespace mlir;
using namespace mlir::zg::nn;

bool RowRegion::isLarge(Value value) const {
  return elementsOf(value) >= bounds.large;
}

/// Adds an op; false where it has no rule.
bool RowRegion::add(Operation *op) {
  std::optional<RowRule> rule = rowRuleOf(op, bounds.rows);
  if (rule && members.insert(op)) {
    rules[op] = std::move(*rule);
  }
  refused = rule ? refused : op;
  return rule.has_value();
}

/// Adds all that reads large tensors of the region, and what makes those that
/// it reads by row. A large tensor that is made otherwise exists whole anyway.
bool RowRegion::grow() {
  for (size_t i = 0; i < members.size(); ++i) {
    Operation *op = members[i];
    RowRule rule = ruleOf(op); // adding ops moves those that are stored
    for (auto [byRow, operand] :
         llvm::zip_equal(rule.byRow, op->getOperands())) {
      if (Operation *maker = operand.getDefiningOp();
          maker && byRow && isLarge(operand) && bounds.takes(maker)) {
        add(maker);
      }
    }
    for (Value result : op->getResults()) {
      if (rule.sums || !isLarge(result)) {
        continue;
      }
      if (!llvm::all_of(result.getUsers(), [&](Operation *user) {
            return !bounds.takes(user) || add(user);
          })) {
        return false;
      }
    }
  }
  return true;
}

/// Adds the ops that depend on the region and that the region depends on; false
/// where one has no rule.
bool RowRegion::addBetween() {
  auto isBefore = [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  };
  Operation *first = *llvm::min_element(members, isBefore);
  Operation *last = *llvm::max_element(members, isBefore);
  outside.clear();
  SmallVector<Operation *> following;
  for (Operation *op = first; op != last; op = op->getNextNode()) {
    bool follows = llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return maker && (members.contains(maker) || outside.contains(maker));
    });
    if (follows && !members.contains(op)) {
      outside.insert(op);
      following.push_back(op);
    }
  }
  DenseSet<Operation *> between;
  for (Operation *op : llvm::reverse(following)) {
    if (llvm::any_of(op->getUsers(), [&](Operation *user) {
          return members.contains(user) || between.contains(user);
        })) {
      between.insert(op);
    }
  }
  for (Operation *op : following) {
    if (between.contains(op)) {
      outside.erase(op);
      if (!add(op)) {
        return false;
      }
    }
  }
  return true;
}

/// Returns an op of the region that reads a result of it not by row; or null.
Operation *RowRegion::readerOfWhole() const {
  for (Operation *op : members) {
    for (auto [byRow, operand] :
         llvm::zip_equal(ruleOf(op).byRow, op->getOperands())) {
      Operation *maker = operand.getDefiningOp();
      if (members.contains(maker) && (!byRow || ruleOf(maker).sums)) {
        return op;
      }
    }
  }
  return nullptr;
}

std::optional<RowRegion> RowRegion::of(ArrayRef<Operation *> ops,
                                       RowBounds bounds, Operation **obstacle) {
  RowRegion region(std::move(bounds));
  auto fail = [&](Operation *op) -> std::optional<RowRegion> {
    if (obstacle) {
      *obstacle = op;
    }
    return std::nullopt;
  };
  if (!llvm::all_of(ops, [&](Operation *op) { return region.add(op); })) {
    return fail(region.refused);
  }
  size_t size;
  do {
    size = region.members.size();
    if (!region.grow() || !region.addBetween()) {
      return fail(region.refused);
    }
  } while (region.members.size() > size);
  if (Operation *reader = region.readerOfWhole()) {
    return fail(reader);
  }
  SmallVector<Operation *> order = region.members.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  region.members.insert(order.begin(), order.end());
  return region;
}
