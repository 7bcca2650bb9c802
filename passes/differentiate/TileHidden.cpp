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
    Operation *obstacle = nullptr;
    bounds.takes = [&](Operation *op) { return !isOfBackward(op); };
    std::optional<RowRegion> forward =
        RowRegion::of({product}, bounds, obstacle);
    if (!forward) {
      return std::nullopt;
    }
    bounds.takes = [&](Operation *op) { return isOfBackward(op); };
    SmallVector<Operation *> readers = readersOutside(*forward);
    if (readers.empty()) {
      return std::nullopt;
    }
    std::optional<RowRegion> backward =
        RowRegion::of(readers, bounds, obstacle);
    if (!backward || !readersOutside(*backward).empty() ||
        !readsOnly(*forward, *forward) || !readsOnly(*backward, *forward)) {
      return std::nullopt;
    }
    if (SmallVector<Operation *> converts = convertsFor(*backward);
        !converts.empty()) {
      readers.append(converts);
      backward = RowRegion::of(readers, bounds, obstacle);
      if (!backward) {
        return std::nullopt;
      }
    }
    return Hidden{std::move(*forward), std::move(*backward), tileRows};
  }

private:
  bool isOfBackward(Operation *op) const {
    return !op->isBeforeInBlock(firstOfBackward);
  }

  /// Returns the rows of a tile; 0 where a product stays whole.
  int64_t rowsOfTile(MatmulOp product) const {
    if (product.getType().getRank() != 2 || product.getTransposeA() ||
        shapeOf(product).back() < 2 * shapeOf(product.getLhs()).back()) {
      return 0;
    }
    int64_t tiles =
        std::min(product.getType().getNumElements() / tileElements, mostTiles);
    int64_t rows = shapeOf(product).front();
    int64_t some = tiles > 1
                       ? llvm::alignTo(llvm::divideCeil(rows, tiles), kRowGrain)
                       : rows;
    return some < rows ? some : 0;
  }

  /// Returns bounds in which a tensor is large that is half as wide as the
  /// product, as a half of it is, and wider than the one it is made of.
  static RowBounds boundsOf(MatmulOp product) {
    int64_t half = llvm::divideCeil(product.getType().getNumElements(), 2);
    int64_t narrow =
        cast<RankedTensorType>(product.getLhs().getType()).getNumElements();
    return {shapeOf(product).front(), std::max(half, narrow + 1)};
  }

  /// Returns the ops outside of a region that read a large tensor of it.
  static SmallVector<Operation *> readersOutside(const RowRegion &region) {
    llvm::SetVector<Operation *> readers;
    for (Operation *op : region.ops()) {
      for (Value result : op->getResults()) {
        for (Operation *user : result.getUsers()) {
          if (region.isLarge(result) && !region.contains(user)) {
            readers.insert(user);
          }
        }
      }
    }
    return readers.takeVector();
  }

  /// Returns the conversions of backward that the region alone reads, of
  /// tensors that others read too, as a residual stream's gradient is. Their
  /// results need not exist whole.
  SmallVector<Operation *> convertsFor(const RowRegion &region) const {
    llvm::SetVector<Operation *> converts;
    for (Operation *op : region.ops()) {
      for (Value operand : op->getOperands()) {
        auto convert = stripReshapes(operand).getDefiningOp<ConvertOp>();
        if (convert && !region.contains(convert) && isOfBackward(convert) &&
            !convert.getOperand().hasOneUse() &&
            rowRuleOf(convert, region.rows()) &&
            isReadOnlyBy(region, convert)) {
          converts.insert(convert);
        }
      }
    }
    return converts.takeVector();
  }

  /// Returns whether a region alone reads a result, perhaps reshaped.
  static bool isReadOnlyBy(const RowRegion &region, Operation *op) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return region.contains(user) ||
             (isa<ReshapeOp>(user) && isReadOnlyBy(region, user));
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
        for (const RowRegion &region : {hidden->forward, hidden->backward}) {
          gone.insert(region.ops().begin(), region.ops().end());
          computeByTiles(region, hidden->tileRows);
        }
        first = firstOfBackward(program.front(), /*loss=*/nullptr);
        ++layersTiled;
      }
    }
  }
};

} // namespace
