//===- TileHidden.cpp - hidden layers by blocks of rows -------------------===//

#include "passes/differentiate/Passes.h"
#include "passes/differentiate/RowTiling.h"
#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/Queries.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_TILEHIDDEN
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// A hidden layer: what forward computes of a wide product, down to narrow
/// tensors, and what backward computes of that.
struct Hidden {
  RowRegion forward, backward;
  int64_t tileRows;
};

/// Finds the hidden layers of a program that trains.
class HiddenLayers {
public:
  HiddenLayers(Operation *firstOfBackward, int64_t tileElements,
               int64_t mostTiles)
      : firstOfBackward(firstOfBackward), tileElements(tileElements),
        mostTiles(mostTiles) {}

  /// Finds the layer that a product of the forward pass begins; nothing where
  /// it would not be tiled.
  std::optional<Hidden> of(MatmulOp product) const {
    int64_t tileRows = rowsOfTile(product);
    if (isOfBackward(product) || tileRows == 0) {
      return std::nullopt;
    }
    RowBounds bounds = boundsOf(product);
    bounds.takes = [&](Operation *op) { return !isOfBackward(op); };
    std::optional<RowRegion> forward = RowRegion::of({product}, bounds);
    if (!forward || !readsOnly(*forward, *forward)) {
      return std::nullopt;
    }
    bounds.takes = [&](Operation *op) { return isOfBackward(op); };
    std::optional<RowRegion> backward = backwardOf(*forward, bounds);
    return backward ? std::optional<Hidden>({*forward, *backward, tileRows})
                    : std::nullopt;
  }

private:
  bool isOfBackward(Operation *op) const {
    return !op->isBeforeInBlock(firstOfBackward);
  }

  /// Returns the rows of a tile; 0 where a product stays whole, or is a tile.
  int64_t rowsOfTile(MatmulOp product) const {
    if (product.getType().getRank() != 2 || product.getTransposeA() ||
        stripReshapes(product.getLhs()).getDefiningOp<TakeRowsOp>() ||
        shapeOf(product).back() < 2 * shapeOf(product.getLhs()).back()) {
      return 0;
    }
    int64_t tiles = std::min(elementsOf(product) / tileElements, mostTiles);
    int64_t rows = shapeOf(product).front();
    int64_t some = tiles > 1
                       ? llvm::alignTo(llvm::divideCeil(rows, tiles), kRowGrain)
                       : rows;
    return some < rows ? some : 0;
  }

  /// Returns bounds in which a tensor is large that is half as wide as the
  /// product, as a half of it is, and wider than the one it is made of.
  static RowBounds boundsOf(MatmulOp product) {
    int64_t half = llvm::divideCeil(elementsOf(product), 2);
    return {shapeOf(product).front(),
            std::max(half, elementsOf(product.getLhs()) + 1)};
  }

  /// Finds what backward computes of the large tensors of a region.
  std::optional<RowRegion> backwardOf(const RowRegion &forward,
                                      const RowBounds &bounds) const {
    auto find = [&](ArrayRef<Operation *> ops) -> std::optional<RowRegion> {
      std::optional<RowRegion> region =
          ops.empty() ? std::nullopt : RowRegion::of(ops, bounds);
      bool isAlone = region && readersOutside(*region).empty() &&
                     readsOnly(*region, forward);
      return isAlone ? region : std::nullopt;
    };
    SmallVector<Operation *> ops = readersOutside(forward);
    std::optional<RowRegion> backward = find(ops);
    if (backward) {
      ops.append(convertsFor(*backward));
      if (std::optional<RowRegion> wider = find(ops)) {
        return wider;
      }
    }
    return backward;
  }

  /// Returns the ops outside of a region that read a large tensor of it.
  static SmallVector<Operation *> readersOutside(const RowRegion &region) {
    llvm::SetVector<Operation *> readers;
    for (Operation *op : region.ops()) {
      for (Value result : op->getResults()) {
        if (region.ruleOf(op).sums || !region.isLarge(result)) {
          continue; // a sum has no rows
        }
        for (Operation *user : result.getUsers()) {
          if (!region.contains(user)) {
            readers.insert(user);
          }
        }
      }
    }
    return readers.takeVector();
  }

  /// Returns the conversions of backward that the region reads, of tensors that
  /// others read too, as a residual stream's gradient is; and what sums their
  /// rows, as the gradient of a bias does. If nothing else reads them, their
  /// results need not exist whole.
  SmallVector<Operation *> convertsFor(const RowRegion &region) const {
    llvm::SetVector<Operation *> ops;
    for (Operation *op : region.ops()) {
      const RowRule &rule = region.ruleOf(op);
      for (auto [byRow, operand] :
           llvm::zip_equal(rule.byRow, op->getOperands())) {
        auto convert = stripReshapes(operand).getDefiningOp<ConvertOp>();
        SmallVector<Operation *> sums;
        if (convert && byRow && !region.contains(convert) &&
            isOfBackward(convert) && !convert.getOperand().hasOneUse() &&
            isReadOnlyBy(region, convert, sums)) {
          ops.insert(convert);
          ops.insert(sums.begin(), sums.end());
        }
      }
    }
    return ops.takeVector();
  }

  /// Returns whether a region alone reads a result, perhaps reshaped, besides
  /// ops that sum its rows, which it adds to `sums`.
  static bool isReadOnlyBy(const RowRegion &region, Operation *op,
                           SmallVectorImpl<Operation *> &sums) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      if (region.contains(user)) {
        return true;
      }
      std::optional<RowRule> rule = rowRuleOf(user, region.rows());
      if (rule && rule->sums) {
        sums.push_back(user);
        return true;
      }
      return isa<ReshapeOp>(user) && isReadOnlyBy(region, user, sums);
    });
  }

  /// Returns whether the region reads no large tensor but those that it,
  /// `other` or literals make: rows can be taken only of what is stored whole,
  /// and a kernel may compute the tensor where it reads it.
  static bool readsOnly(const RowRegion &region, const RowRegion &other) {
    auto isFine = [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return !maker || !region.isLarge(operand) || isLiteral(maker) ||
             region.contains(maker) || other.contains(maker);
    };
    return llvm::all_of(region.ops(), [&](Operation *op) {
      const RowRule &rule = region.ruleOf(op);
      return llvm::all_of(llvm::zip_equal(rule.byRow, op->getOperands()),
                          [&](auto operand) {
                            auto [byRow, value] = operand;
                            return !byRow || isFine(value);
                          });
    });
  }

  Operation *firstOfBackward;
  int64_t tileElements, mostTiles;
};

struct TileHiddenPass : mlir::zg::nn::impl::TileHiddenBase<TileHiddenPass> {
  using TileHiddenBase::TileHiddenBase;

  void runOnOperation() override {
    if (tileElements < 1 || mostTiles < 1) {
      getOperation().emitError("a hidden layer has at least one tile, and that "
                               "one element");
      return signalPassFailure();
    }
    getOperation().walk([&](ProgramOp program) { run(program); });
  }

private:
  void run(ProgramOp program) {
    SmallVector<MatmulOp> products(program.getOps<MatmulOp>());
    DenseSet<Operation *> gone; // with a layer that was tiled
    Operation *first = firstOfBackward(program.front(), /*loss=*/nullptr);
    for (MatmulOp product : products) {
      if (!first || gone.contains(product)) {
        continue;
      }
      HiddenLayers layers(first, tileElements, mostTiles);
      if (std::optional<Hidden> hidden = layers.of(product)) {
        for (const RowRegion *region : {&hidden->forward, &hidden->backward}) {
          gone.insert(region->ops().begin(), region->ops().end());
          computeByTiles(*region, hidden->tileRows);
        }
        first = firstOfBackward(program.front(), /*loss=*/nullptr);
        ++layersTiled;
      }
    }
  }
};

} // namespace
