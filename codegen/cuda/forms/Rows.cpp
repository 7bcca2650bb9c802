//===- Rows.cpp - kernels over independent rows ---------------------------===//
//
// A warp computes a row, and each of its threads two of the row's chains: t and
// t + 32 or, where every row is read by pairs, 2t and 2t + 1. What the warp
// reads together lies together. The warps of a block share the segments of a
// longer row. Without reductions every element has a thread, or as many
// together as one access has.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/cuda/forms/Vectors.h"
#include "codegen/emit/loops/RowLoops.h"
#include "passes/ir/nn/Numerics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

class WarpRowLoops : public RowLoops {
public:
  WarpRowLoops(CudaBody &body, RowSweeps &sweeps, const RowThreads &threads)
      : RowLoops(body, sweeps, threads), cuda(body), lane(threads.number) {}

protected:
  /// Two that combine give both of their threads the same bits, as no reduction
  /// depends on the order of its operands.
  Value combineChains(ArrayRef<Value> chains, Combine combine) override {
    auto combined = [&](Value x, int32_t bit) {
      return combine(x, cuda.shuffleXor(x, bit));
    };
    if (cuda.lanes.width == 2) {
      Value sum = chains[0];
      for (int32_t bit : {8, 16, 4, 2, 1}) {
        sum = combined(sum, bit);
      }
      return cuda.lanes.horizontal(sum, combine);
    }
    Value sum = combine(combined(chains[0], 16), combined(chains[1], 16));
    for (int32_t bit : {8, 4, 2, 1}) {
      sum = combined(sum, bit);
    }
    return sum;
  }

  void once(llvm::function_ref<void()> emit) override {
    cuda.syncWarp();
    Lanes &l = cuda.lanes;
    cuda.when(l.compare(arith::CmpIPredicate::eq, lane, l.index(0)), emit);
  }

  CudaBody &cuda;
  Value lane;
};

/// The warps of a block share the segments of a long row.
class BlockRowLoops final : public WarpRowLoops {
public:
  BlockRowLoops(CudaBody &body, RowSweeps &sweeps, const RowThreads &threads,
                StringRef name)
      : WarpRowLoops(body, sweeps, threads) {
    for (const Sweep &sweep : sweeps.sweeps) {
      for (Node *node : sweep.reductions) {
        std::string array = (name + "_segments" + Twine(shared.size())).str();
        shared[node] = body.declareShared(array, node->element, segmentCount());
      }
    }
  }

protected:
  void once(llvm::function_ref<void()> emit) override {
    cuda.syncBlock();
    Lanes &l = cuda.lanes;
    cuda.when(l.compare(arith::CmpIPredicate::eq, threadOfBlock(l), l.index(0)),
              emit);
  }

  void keepSegment(const Sweep &sweep, Value segment,
                   ArrayRef<Value> totals) override {
    Lanes &l = cuda.lanes;
    cuda.when(l.compare(arith::CmpIPredicate::eq, lane, l.index(0)), [&] {
      for (auto [node, total] : llvm::zip(sweep.reductions, totals)) {
        cuda.store(shared[node], segment, total, {});
      }
    });
  }

  void awaitSegments() override { cuda.syncBlock(); }

  SmallVector<Value> keptSegment(const Sweep &sweep, Value segment) override {
    SmallVector<Value> kept;
    for (Node *node : sweep.reductions) {
      kept.push_back(cuda.load(shared[node], segment, node->element,
                               /*asVector=*/false, {}));
    }
    return kept;
  }

private:
  /// Maps each reduction to what it is in every segment.
  llvm::DenseMap<Node *, Value> shared;
};

int64_t widthOf(RowSweeps &sweeps) {
  SmallVector<Type> stored;
  int64_t apart = 0;
  for (const Sweep &sweep : sweeps.sweeps) {
    for (const RowResult &result : sweep.stores) {
      stored.push_back(result.node->element);
      apart = std::gcd(apart, result.stride);
    }
  }
  return vectorWidth(*sweeps.graph, stored, apart);
}

/// Emits every element, `width` at a time, then those left over at the ends of
/// rows.
CudaLaunch emitElements(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                        RowSweeps &sweeps, StringRef name) {
  const Domain &domain = sweeps.domain;
  int64_t width = widthOf(sweeps), turns = domain.cols / width;
  int64_t whole = domain.rows * turns, rest = domain.cols % width;
  CudaBody body(b, kernel, *sweeps.graph, name, {.width = width});
  Lanes &l = body.lanes;
  auto emitTurn = [&](Value item) {
    ElementLoops loops(body, sweeps);
    Value row = l.index(0), turn = item;
    if (!sweeps.isFlat()) {
      row = l.b.create<arith::DivUIOp>(item, l.index(turns));
      turn = l.b.create<arith::RemUIOp>(item, l.index(turns));
    }
    loops.enterRow(row);
    loops.emit(l.mul(turn, l.index(width)), 1, {});
  };
  if (whole > 0) {
    body.forItem(whole, emitTurn);
  }
  int64_t left = domain.rows * rest;
  if (left > 0) {
    body.forSingle(whole, whole + left, [&](Body &single, Value item) {
      auto [row, col] = l.divide(l.sub(item, l.index(whole)), rest);
      ElementLoops loops(single, sweeps);
      loops.enterRow(row);
      loops.emit(l.add(col, l.index(turns * width)), 1, {});
    });
  }
  body.finish();
  return launchOver(name, whole + left);
}

/// How many warps compute a row together: as many as it has segments, up to
/// kMostWarps, where what these make fits into shared memory.
int64_t warpsOfRow(const RowSweeps &sweeps) {
  constexpr int64_t kMostWarps = 16, kSharedBytes = 48 << 10;
  auto segments =
      int64_t(llvm::divideCeil(sweeps.domain.cols, nn::kRowSegment));
  int64_t bytes = 0;
  for (const Sweep &sweep : sweeps.sweeps) {
    for (Node *node : sweep.reductions) {
      bytes += int64_t(llvm::alignTo(segments * nn::elementBytes(node->element),
                                     kAccessBytes));
    }
  }
  return bytes <= kSharedBytes ? std::min(segments, kMostWarps) : 1;
}

/// Returns whether a thread has registers for its part of a row, and the code
/// of all its columns stays short.
bool keepsRow(const RowSweeps &sweeps, int64_t width) {
  constexpr int64_t kMostKept = 96, kMostNodes = 2000;
  auto turns = int64_t(llvm::divideCeil(sweeps.domain.cols, kWarp * width));
  return sweeps.sweeps.size() > 1 && sweeps.domain.cols <= nn::kRowSegment &&
         sweeps.sharedValues() * turns * width <= kMostKept &&
         int64_t(sweeps.graph->getNodes().size()) * turns <= kMostNodes;
}

CudaLaunch emitByWarps(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                       RowSweeps &sweeps, int64_t width, StringRef name) {
  CudaBody body(b, kernel, *sweeps.graph, name, {.width = width});
  body.forWarp(sweeps.domain.rows, [&](Value row, Value lane) {
    RowThreads threads{kWarp, lane, 1, {}};
    threads.keepsRow = keepsRow(sweeps, width);
    WarpRowLoops(body, sweeps, threads).emitRow(row);
  });
  body.finish();
  return launchOverWarps(name, sweeps.domain.rows);
}

CudaLaunch emitByBlocks(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                        RowSweeps &sweeps, int64_t width, int64_t warps,
                        StringRef name) {
  int64_t block = warps * kWarp;
  CudaBody body(b, kernel, *sweeps.graph, name,
                {.block = block, .width = width});
  auto [warp, lane] = body.lanes.divide(threadOfBlock(body.lanes), kWarp);
  body.enterKernel();
  BlockRowLoops(body, sweeps, {kWarp, lane, warps, warp}, name)
      .emitRow(blockOfGrid(body.lanes));
  body.finish();
  return {name.str(), sweeps.domain.rows, block};
}

} // namespace

FailureOr<CudaKernelInfo> cuda::emitRows(ImplicitLocOpBuilder &b,
                                         nn::KernelOp kernel, StringRef name) {
  RowSweeps sweeps;
  if (failed(sweeps.find(kernel))) {
    return failure();
  }
  if (sweeps.isElementwise()) {
    return onlyLaunch(emitElements(b, kernel, sweeps, name));
  }
  bool pairs = widthOf(sweeps) > 1 && sweeps.domain.cols % 2 == 0;
  int64_t width = pairs ? 2 : 1, warps = warpsOfRow(sweeps);
  return onlyLaunch(warps > 1
                        ? emitByBlocks(b, kernel, sweeps, width, warps, name)
                        : emitByWarps(b, kernel, sweeps, width, name));
}
