//===- Columns.cpp - kernels that reduce the rows of each column ----------===//
//
// Neighbouring threads have neighbouring columns, each as many as one access
// has, where it can. Of columns longer than a block of rows, a first launch
// leaves the sums of every block in scratch and a second folds them in order.
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

ColumnGroup groupOf(CudaBody &body, const Domain &domain, Value column) {
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

CudaLaunch emitBlocks(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                      ColumnFolds &folds, const BlockSums &sums,
                      StringRef name) {
  int64_t width = sharedWidth(*folds.graph, kColumnsTogether);
  int64_t groups = folds.columns() / width;
  // Few blocks share the columns: threads with many loads under way are worth
  // more than many threads.
  CudaBody body(b, kernel, *folds.graph, name,
                {.width = width, .blocksAtLeast = 1, .scratch = true});
  Lanes &l = body.lanes;
  ColumnLoops loops(body, folds, rowsTogether(folds));
  int64_t items = sums.blockCount() * groups;
  body.forItem(items, [&](Value item) {
    auto [block, number] = l.divide(item, groups);
    Value column = l.mul(number, l.index(width));
    ColumnGroup group = groupOf(body, folds.domain, column);
    Value size = l.index(nn::kRowBlock);
    Value lo = l.mul(block, size);
    Value hi = l.min(l.add(lo, size), l.index(folds.length()));
    sums.store(body, block, column,
               loops.emitRows(group, lo, hi, loops.neutrals(1)));
  });
  body.finish();
  return launchOver(name, items);
}

CudaLaunch emitFold(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                    ColumnFolds &folds, const BlockSums &sums, StringRef name) {
  CudaBody body(b, kernel, *folds.graph, name, {.scratch = true});
  Lanes &l = body.lanes;
  ColumnLoops loops(body, folds);
  // The sums of several blocks are on their way at once: there are too few
  // columns for threads to hide how long one takes.
  constexpr int64_t kTogether = 32;
  body.forItem(folds.columns(), [&](Value column) {
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
        body.loop(l.index(0), l.index(whole), kTogether, loops.neutrals(1),
                  [&](Value block, ValueRange carried) {
                    return addBlocks(block, kTogether, carried);
                  });
    total = addBlocks(l.index(whole), rest, total);
    loops.emitResults(groupOf(body, folds.domain, column), total);
  });
  body.finish();
  return launchOver(name, folds.columns());
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
  CudaKernelInfo info;
  BlockSums sums(folds);
  info.scratchBytes = sums.bytes();
  info.launches.push_back(
      emitBlocks(b, kernel, folds, sums, (name + "_blocks").str()));
  info.launches.push_back(
      emitFold(b, kernel, folds, sums, (name + "_fold").str()));
  return info;
}
