//===- TileRows.cpp - the head of a model by blocks of rows ---------------===//

#include "passes/differentiate/Passes.h"
#include "passes/differentiate/RowTiling.h"
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

struct TileRowsPass : mlir::zg::nn::impl::TileRowsBase<TileRowsPass> {
  using TileRowsBase::TileRowsBase;

  void runOnOperation() override {
    getOperation().walk([&](ProgramOp program) {
      SmallVector<MatmulOp> products;
      int64_t largest = 0;
      program.walk([&](MatmulOp product) {
        largest = std::max(largest, elementsOf(product));
        if (isWide(product)) {
          products.push_back(product);
        }
      });
      // A product of a region that was tiled is gone.
      DenseSet<Operation *> gone;
      for (MatmulOp product : products) {
        if (!gone.contains(product)) {
          tile(product, gone, largest);
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

  void tile(MatmulOp product, DenseSet<Operation *> &gone, int64_t largest) {
    Operation *obstacle = nullptr;
    int64_t half = llvm::divideCeil(elementsOf(product), 2);
    std::optional<RowRegion> region =
        RowRegion::of({product}, {shapeOf(product).front(), half}, &obstacle);
    if (!region) {
      // Outputs have to be whole. Besides logits, what is made of an adapter's
      // few numbers, or of one head's keys, is as much wider.
      if (!isa<ReturnOp>(obstacle) && elementsOf(product) == largest) {
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
    computeByTiles(*region, rows);
  }
};

} // namespace
