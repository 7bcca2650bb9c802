//===- RowTiling.cpp - a region, computed tile by tile --------------------===//

#include "passes/differentiate/RowTiling.h"

#include "passes/ir/nn/Queries.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

class Tiling {
public:
  Tiling(const RowRegion &region, int64_t tileRows)
      : region(region), tileRows(tileRows), last(region.ops().back()),
        builder(last) {}

  void run() {
    for (int64_t first = 0; first < region.rows(); first += tileRows) {
      computeTile(first, std::min(tileRows, region.rows() - first));
    }
    replaceResults();
    moveFollowing();
    for (Operation *op : llvm::reverse(region.ops())) {
      op->erase();
    }
  }

private:
  void computeTile(int64_t first, int64_t part) {
    IRMapping tile = sums;
    for (Operation *op : region.ops()) {
      const RowRule &rule = region.ruleOf(op);
      computeRows(builder, op, rule, region.rows(), part, tile,
                  [&](Value value) { return rowsOf(value, first, part); });
      for (Value result : op->getResults()) {
        if (rule.sums) {
          sums.map(result, tile.lookup(result));
        } else if (isReadOutside(result)) {
          parts[result].push_back(tile.lookup(result));
        }
      }
    }
  }

  /// Returns whether a value is made of a parameter, which may be released
  /// before its rows are read, or of a literal, which lies nowhere.
  static bool hasNoRowsInMemory(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!recastsParameter(op)) {
        return isLiteral(op);
      }
      value = op->getOperand(0);
    }
    auto argument = cast<BlockArgument>(value);
    auto program = cast<ProgramOp>(argument.getOwner()->getParentOp());
    return bool(program.getArgAttr(argument.getArgNumber(), kParameterAttr));
  }

  /// Returns rows of what the region reads.
  Value rowsOf(Value value, int64_t first, int64_t part) {
    Value &whole = inputs[value];
    if (!whole) {
      whole = inRows(builder, value, region.rows());
    }
    NNBuilder b(builder, value.getLoc());
    if (!hasNoRowsInMemory(value)) {
      return b.takeRows(whole, first, part);
    }
    SmallVector<int64_t> shape(shapeOf(whole));
    shape.front() = part;
    SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
    starts.front() = first;
    return b.slice(whole, starts, steps, shape);
  }

  bool isReadOutside(Value result) const {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      return !region.contains(user);
    });
  }

  void replaceResults() {
    for (Operation *op : region.ops()) {
      for (Value result : op->getResults()) {
        Value whole = sums.lookupOrNull(result);
        if (auto made = parts.find(result); made != parts.end()) {
          NNBuilder b(builder, result.getLoc());
          whole = b.reshape(b.joinRows(made->second), shapeOf(result));
        }
        if (whole) {
          result.replaceUsesWithIf(whole, [&](OpOperand &use) {
            return !region.contains(use.getOwner());
          });
        }
      }
    }
  }

  /// Moves what reads the region's results after the last of its ops, where
  /// these now are made.
  void moveFollowing() {
    Operation *next = last->getNextNode();
    for (Operation *op = region.ops().front(); op != last;) {
      Operation *moved = op;
      op = op->getNextNode();
      if (region.dependents().contains(moved)) {
        moved->moveBefore(next);
      }
    }
  }

  const RowRegion &region;
  int64_t tileRows;
  Operation *last;
  OpBuilder builder;
  DenseMap<Value, Value> inputs;
  DenseMap<Value, SmallVector<Value>> parts;
  IRMapping sums;
};

} // namespace

void mlir::zg::nn::computeByTiles(const RowRegion &region, int64_t tileRows) {
  Tiling(region, tileRows).run();
}
