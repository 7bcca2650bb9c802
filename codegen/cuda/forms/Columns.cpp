//===- Columns.cpp - kernels that reduce the rows of each column ----------===//
//
// Neighbouring threads have neighbouring columns, each as many as one access
// has, where it can. Where columns are longer than a block of rows, every
// thread leaves the sums of one in scratch; the last block of threads that has
// some columns adds these up, in the order of their rows.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/cuda/forms/Vectors.h"
#include "codegen/emit/loops/ColumnLoops.h"
#include "passes/ir/nn/Numerics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

/// Counts the rows whose loads are on their way at once: a thread has too
/// little else to do while it waits for one. What is stored takes registers.
int64_t rowsTogether(const ColumnFolds &folds) {
  return folds.stored.empty() ? 8 : 4;
}

/// The most neighbouring columns that a thread computes.
constexpr int64_t kColumnsTogether = 8;

/// The place of the sums of blocks: [reduction][block][column].
class BlockSums {
public:
  explicit BlockSums(const ColumnFolds &folds)
      : folds(folds),
        blocks(int64_t(llvm::divideCeil(folds.length(), nn::kRowBlock))) {
    for (Node *node : folds.reductions) {
      starts.push_back(size);
      int64_t bytes = nn::elementBytes(node->element);
      size += int64_t(llvm::alignTo(blocks * folds.columns() * bytes, 256));
    }
  }

  int64_t blockCount() const { return blocks; }
  int64_t bytes() const { return size; }

  void store(CudaBody &body, Value block, Value column,
             ArrayRef<Value> sums) const {
    for (auto [i, sum] : llvm::enumerate(sums)) {
      body.store(pointer(body, i), offset(body, block, column), sum, {},
                 body.lanes.width);
    }
  }
  SmallVector<Value> load(CudaBody &body, Value block, Value column) const {
    SmallVector<Value> sums;
    for (auto [i, node] : llvm::enumerate(folds.reductions)) {
      sums.push_back(body.load(pointer(body, i), offset(body, block, column),
                               node->element, /*asVector=*/false, {}));
    }
    return sums;
  }

private:
  Value pointer(CudaBody &body, size_t reduction) const {
    Value start = body.lanes.index(starts[reduction]);
    return body.address(body.scratchPointer, start, body.lanes.b.getI8Type());
  }
  Value offset(CudaBody &body, Value block, Value column) const {
    Lanes &l = body.lanes;
    return l.add(l.mul(block, l.index(folds.columns())), column);
  }

  const ColumnFolds &folds;
  int64_t blocks, size = 0;
  SmallVector<int64_t> starts;
};

ColumnGroup groupOf(Body &body, const Domain &domain, Value column) {
  Lanes &l = body.lanes;
  ColumnGroup group;
  group.col = column;
  if (domain.runs > 1) {
    Value cols = l.index(domain.cols);
    group.run = l.b.create<arith::DivUIOp>(column, cols);
    group.col = l.b.create<arith::RemUIOp>(column, cols);
  }
  return group;
}

CudaLaunch emitWhole(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                     ColumnFolds &folds, StringRef name) {
  int64_t width = sharedWidth(*folds.graph, kColumnsTogether);
  int64_t items = folds.columns() / width;
  CudaBody body(b, kernel, *folds.graph, name, {.width = width});
  Lanes &l = body.lanes;
  ColumnLoops loops(body, folds, rowsTogether(folds));
  body.forItem(items, [&](Value item) {
    Value column = l.mul(item, l.index(width));
    loops.emitGroup(groupOf(body, folds.domain, column));
  });
  body.finish();
  return launchOver(name, items);
}

/// Says which columns and blocks of rows a block of threads has: a thread for
/// `width` columns and one block of rows, and later one for each column.
struct Tiles {
  Tiles(const ColumnFolds &folds, int64_t allBlocks, int64_t width)
      : columns(std::max(
            width,
            std::min<int64_t>(kBlock, llvm::PowerOf2Ceil(folds.columns())))),
        groups(columns / width), rowBlocks(kBlock / groups),
        across(llvm::divideCeil(folds.columns(), columns)),
        down(llvm::divideCeil(allBlocks, rowBlocks)) {}

  int64_t columns;      ///< of a tile
  int64_t groups;       ///< of columns, in a tile
  int64_t rowBlocks;    ///< of a tile
  int64_t across, down; ///< tiles beside and below each other
};

/// Leaves the sums of a block of rows, and stores what rows store.
void emitBlock(CudaBody &body, ColumnFolds &folds, const BlockSums &sums,
               Value block, Value column) {
  body.enterKernel();
  Lanes &l = body.lanes;
  ColumnLoops loops(body, folds, rowsTogether(folds));
  Value size = l.index(nn::kRowBlock);
  Value lo = l.mul(block, size);
  Value hi = l.min(l.add(lo, size), l.index(folds.length()));
  sums.store(body, block, column,
             loops.emitRows(groupOf(body, folds.domain, column), lo, hi,
                            loops.neutrals(1)));
}

/// Adds up the sums of a column's blocks.
void emitFold(CudaBody &body, ColumnFolds &folds, const BlockSums &sums,
              Value column) {
  Body single(body, *folds.graph, /*width=*/1);
  Lanes &l = single.lanes;
  single.enterKernel();
  ColumnLoops loops(single, folds);
  // The sums of several blocks are on their way at once: there are too few
  // columns for threads to hide how long one takes.
  constexpr int64_t kTogether = 32;
  auto addBlocks = [&](Value first, int64_t count, ValueRange carried) {
    SmallVector<SmallVector<Value>> loaded;
    for (int64_t i = 0; i < count; ++i) {
      loaded.push_back(sums.load(body, l.add(first, l.index(i)), column));
    }
    SmallVector<Value> next(carried);
    for (SmallVector<Value> &own : loaded) {
      loops.combineInto(next, own, 1);
    }
    return next;
  };
  int64_t rest = sums.blockCount() % kTogether;
  int64_t whole = sums.blockCount() - rest;
  SmallVector<Value> total =
      single.loop(l.index(0), l.index(whole), kTogether, loops.neutrals(1),
                  [&](Value block, ValueRange carried) {
                    return addBlocks(block, kTogether, carried);
                  });
  total = addBlocks(l.index(whole), rest, total);
  loops.emitResults(groupOf(single, folds.domain, column), total);
}

CudaLaunch emitTiles(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                     ColumnFolds &folds, const BlockSums &sums,
                     StringRef name) {
  int64_t width = sharedWidth(*folds.graph, kColumnsTogether);
  Tiles tiles(folds, sums.blockCount(), width);
  // Few blocks share the columns: threads with many loads under way are worth
  // more than many threads.
  CudaBody body(b, kernel, *folds.graph, name,
                {.width = width, .blocksAtLeast = 1, .scratch = true});
  Lanes &l = body.lanes;
  auto isBelow = [&](Value number, int64_t most) {
    return l.compare(arith::CmpIPredicate::slt, number, l.index(most));
  };
  auto [down, across] = l.divide(blockOfGrid(l), tiles.across);
  auto [row, number] = l.divide(threadOfBlock(l), tiles.groups);
  Value first = l.mul(across, l.index(tiles.columns));
  Value block = l.add(l.mul(down, l.index(tiles.rowBlocks)), row);
  Value column = l.add(first, l.mul(number, l.index(width)));
  Value inside = l.logicalAnd(isBelow(block, sums.blockCount()),
                              isBelow(column, folds.columns()));
  body.when(inside, [&] { emitBlock(body, folds, sums, block, column); });
  Value isLast = body.isLastBlock(name, across, tiles.across, tiles.down);
  Value own = l.add(first, threadOfBlock(l));
  Value hasColumn = l.logicalAnd(isBelow(threadOfBlock(l), tiles.columns),
                                 isBelow(own, folds.columns()));
  body.when(l.logicalAnd(isLast, hasColumn),
            [&] { emitFold(body, folds, sums, own); });
  body.finish();
  return {name.str(), tiles.across * tiles.down, kBlock};
}

} // namespace

FailureOr<int64_t> cuda::columnsScratchBytes(nn::KernelOp kernel) {
  ColumnFolds folds;
  if (failed(folds.find(kernel))) {
    return failure();
  }
  return folds.length() <= nn::kRowBlock ? 0 : BlockSums(folds).bytes();
}

FailureOr<CudaKernelInfo> cuda::emitColumns(ImplicitLocOpBuilder &b,
                                            nn::KernelOp kernel,
                                            StringRef name) {
  ColumnFolds folds;
  if (failed(folds.find(kernel))) {
    return failure();
  }
  if (folds.length() <= nn::kRowBlock) {
    return onlyLaunch(emitWhole(b, kernel, folds, name));
  }
  BlockSums sums(folds);
  CudaKernelInfo info = onlyLaunch(emitTiles(b, kernel, folds, sums, name));
  info.scratchBytes = sums.bytes();
  return info;
}
