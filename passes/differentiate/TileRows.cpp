//===- TileRows.cpp - the head of a model by blocks of rows ---------------===//

#include "passes/differentiate/Passes.h"
#include "passes/differentiate/RowRegion.h"
#include "passes/differentiate/RowTile.h"
#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/Queries.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_TILEROWS
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// A tile has a multiple of so many rows, so that it begins at an aligned
/// address however long a row is.
constexpr int64_t kRowGrain = 64;
/// More tiles would save little more memory, and every tile reads the weights.
constexpr int64_t kUsualTiles = 4;
/// Products of so many rows take about as long a row as those of more.
constexpr int64_t kUsualTileRows = 4096;
constexpr int64_t kMostTiles = 64;

int64_t rowsOfTile(int64_t rows, int64_t least) {
  int64_t usual = llvm::divideCeil(rows, kUsualTiles);
  int64_t wanted = std::max(std::min(usual, kUsualTileRows), least);
  wanted = std::max<int64_t>(wanted, llvm::divideCeil(rows, kMostTiles));
  return llvm::alignTo(wanted, kRowGrain);
}

/// Replaces the ops of a region by those of its tiles.
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
    SmallVector<int64_t> shape(shapeOf(whole));
    shape.front() = part;
    if (hasNoRowsInMemory(value)) {
      SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
      starts.front() = first;
      return NNBuilder(builder, value.getLoc())
          .slice(whole, starts, steps, shape);
    }
    auto type = cast<RankedTensorType>(whole.getType()).clone(shape);
    return builder.create<TakeRowsOp>(value.getLoc(), type, whole, first);
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
          whole = joined(result, made->second);
        }
        if (whole) {
          result.replaceUsesWithIf(whole, [&](OpOperand &use) {
            return !region.contains(use.getOwner());
          });
        }
      }
    }
  }

  Value joined(Value result, ArrayRef<Value> rows) {
    SmallVector<int64_t> shape(shapeOf(rows.front()));
    shape.front() = region.rows();
    Type type = cast<RankedTensorType>(result.getType()).clone(shape);
    Value whole = builder.create<JoinRowsOp>(result.getLoc(), type, rows);
    return NNBuilder(builder, result.getLoc()).reshape(whole, shapeOf(result));
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

struct TileRowsPass : mlir::zg::nn::impl::TileRowsBase<TileRowsPass> {
  using TileRowsBase::TileRowsBase;

  void runOnOperation() override {
    getOperation().walk([&](ProgramOp program) {
      SmallVector<MatmulOp> products;
      program.walk([&](MatmulOp product) {
        if (isWide(product)) {
          products.push_back(product);
        }
      });
      // A product of a region that was tiled is gone.
      DenseSet<Operation *> gone;
      for (MatmulOp product : products) {
        if (!gone.contains(product)) {
          tile(product, gone);
        }
      }
    });
  }

private:
  bool isWide(MatmulOp product) const {
    if (product.getType().getRank() != 2 || product.getTransposeA()) {
      return false;
    }
    int64_t rows = shapeOf(product).front(), columns = shapeOf(product).back();
    return rows * columns >= least && rows > rowsOfTile(rows, leastRows) &&
           columns >= wider * shapeOf(product.getLhs()).back();
  }

  void tile(MatmulOp product, DenseSet<Operation *> &gone) {
    Operation *obstacle = nullptr;
    std::optional<RowRegion> region = RowRegion::of(product, obstacle);
    if (!region) {
      // Results that are outputs have to be whole.
      if (!isa<ReturnOp>(obstacle)) {
        emitRemark(product.getLoc(), "its result of ")
            << shapeOf(product).front() << " rows of "
            << shapeOf(product).back()
            << " numbers is stored whole: " << describe(obstacle)
            << " needs more than one row at a time";
      }
      return;
    }
    gone.insert(region->ops().begin(), region->ops().end());
    int64_t rows = rowsOfTile(region->rows(), leastRows);
    tiles += llvm::divideCeil(region->rows(), rows);
    Tiling(*region, rows).run();
  }
};

} // namespace
