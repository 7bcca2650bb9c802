//===- RowRegion.cpp - ops that are computed by blocks of rows together ---===//

#include "passes/differentiate/RowRegion.h"

#include "passes/differentiate/RowTile.h"
#include "passes/ir/nn/Queries.h"

using namespace mlir;
using namespace mlir::zg::nn;

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

RowRegion::RowRegion(MatmulOp product)
    : rowCount(shapeOf(product).front()),
      largest(elementsOf(product.getResult())) {}

/// A tensor that is half as large as the product's result is worth tiling too.
bool RowRegion::isLarge(Value value) const {
  return 2 * elementsOf(value) >= largest;
}

/// Adds an op; false where it has no rule.
bool RowRegion::add(Operation *op) {
  if (!op || !rowRuleOf(op, rowCount)) {
    return false;
  }
  members.insert(op);
  return true;
}

/// Adds all that reads or makes large tensors of rows.
bool RowRegion::grow() {
  for (size_t i = 0; i < members.size(); ++i) {
    Operation *op = members[i];
    RowRule rule = *rowRuleOf(op, rowCount);
    for (auto [byRow, operand] : llvm::zip(rule.byRow, op->getOperands())) {
      Operation *maker = operand.getDefiningOp();
      bool literal = maker && isLiteral(maker); // made again where it is read
      if (byRow && isLarge(operand) && !literal && !add(maker)) {
        return false;
      }
    }
    for (Value result : op->getResults()) {
      if (rule.sums || !isLarge(result)) {
        continue;
      }
      if (!llvm::all_of(result.getUsers(),
                        [&](Operation *user) { return add(user); })) {
        return false;
      }
    }
  }
  return true;
}

/// Adds the ops that read what the region makes and make what it reads; false
/// where one has no rule.
bool RowRegion::addBetween() {
  Block &block = *members.front()->getBlock();
  after.clear();
  SmallVector<Operation *> following;
  for (Operation &op : block) {
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return maker && (members.contains(maker) || after.contains(maker));
    });
    if (follows && !members.contains(&op)) {
      after.insert(&op);
      following.push_back(&op);
    }
  }
  DenseSet<Operation *> before;
  for (Operation *op : llvm::reverse(following)) {
    if (llvm::any_of(op->getUsers(), [&](Operation *user) {
          return members.contains(user) || before.contains(user);
        })) {
      before.insert(op);
    }
  }
  for (Operation *op : following) {
    if (before.contains(op)) {
      after.erase(op);
      if (!add(op)) {
        return false;
      }
    }
  }
  return true;
}

/// Returns whether ops of the region read each other's results by row alone.
bool RowRegion::readsByRow() const {
  return llvm::all_of(members, [&](Operation *op) {
    RowRule rule = *rowRuleOf(op, rowCount);
    return llvm::all_of(llvm::zip_equal(rule.byRow, op->getOperands()),
                        [&](auto pair) {
                          auto [byRow, operand] = pair;
                          Operation *maker = operand.getDefiningOp();
                          return !members.contains(maker) ||
                                 (byRow && !rowRuleOf(maker, rowCount)->sums);
                        });
  });
}

std::optional<RowRegion> RowRegion::of(MatmulOp product) {
  RowRegion region(product);
  if (!region.add(product)) {
    return std::nullopt;
  }
  size_t before;
  do {
    before = region.members.size();
    if (!region.grow() || !region.addBetween()) {
      return std::nullopt;
    }
  } while (region.members.size() > before);
  if (!region.readsByRow()) {
    return std::nullopt;
  }
  SmallVector<Operation *> order = region.members.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  region.members.insert(order.begin(), order.end());
  return region;
}
