//===- Matmul.cpp - products of matrices by tiles -------------------------===//
//
// A block computes a tile of the result. It brings both operands into shared
// memory some numbers of k at a time, the next ones while it multiplies those
// that are there, and each thread keeps some rows and columns of the tile in
// registers. An element is one chain of fma in ascending k, as on the host.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/cuda/forms/ProductTile.h"
#include "codegen/emit/loops/MatmulLoops.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

/// Most first: a product has the largest tiles that still occupy a GPU and that
/// it fills by more than half.
constexpr Tile kTiles[] = {{128, 128, 8, 2}, {64, 64, 16, 1}, {32, 32, 16, 1}};
/// About as many blocks as a GPU has multiprocessors.
constexpr int64_t kManyBlocks = 128;
/// Numbers of k that are multiplied between two tests of the loop's end.
constexpr int64_t kUnrolled = 4;

int64_t blocksOf(const MatmulLoops &product, const Tile &tile) {
  return product.rows / product.m *
         int64_t(llvm::divideCeil(product.m, tile.rows) *
                 llvm::divideCeil(product.n, tile.cols));
}

Tile chooseTile(const MatmulLoops &product) {
  for (const Tile &tile : kTiles) {
    bool fits = 2 * product.m > tile.rows && 2 * product.n > tile.cols &&
                !(product.element.isF64() && tile.groups > 1);
    if (fits && blocksOf(product, tile) >= kManyBlocks) {
      return tile;
    }
  }
  return std::end(kTiles)[-1];
}

class Product {
public:
  Product(CudaBody &body, const MatmulLoops &product, const Tile &tile,
          StringRef name);
  void emit();

private:
  using Sums = SmallVector<Value>;

  /// `sums` and the first `depth` numbers of k of a buffer.
  Sums multiply(Value buffer, int64_t depth, ValueRange sums);
  Sums multiplyOne(Value buffer, Value k, ValueRange sums);
  void store(ArrayRef<Value> sums);
  void storeRow(Value row, ArrayRef<Value> sums);

  CudaBody &body;
  Lanes &l;
  const MatmulLoops &product;
  Tile tile;
  /// The place of this block in the result: the batch, the first row and
  /// column.
  Value batch, firstRow, firstCol;
  std::optional<TileOperand> lhs, rhs;
};

Product::Product(CudaBody &body, const MatmulLoops &product, const Tile &tile,
                 StringRef name)
    : body(body), l(body.lanes), product(product), tile(tile) {
  int64_t m = product.m, n = product.n, k = product.k;
  auto [rest, col] =
      l.divide(blockOfGrid(l), int64_t(llvm::divideCeil(n, tile.cols)));
  auto [number, row] = l.divide(rest, int64_t(llvm::divideCeil(m, tile.rows)));
  batch = number;
  firstRow = l.mul(row, l.index(tile.rows));
  firstCol = l.mul(col, l.index(tile.cols));
  lhs.emplace(body, tile,
              OperandShape{product.element, m, k, !product.transposeA},
              tile.rows, (name + "_lhs").str());
  rhs.emplace(body, tile,
              OperandShape{product.element, n, k, product.transposeB},
              tile.cols, (name + "_rhs").str());
  lhs->enter(body.operandPointer(0), batch, firstRow);
  rhs->enter(body.operandPointer(1), batch, firstCol);
}

/// Each of the thread's elements by one more number of k.
Product::Sums Product::multiplyOne(Value buffer, Value k, ValueRange sums) {
  Value thread = threadOfBlock(l);
  auto [own, across] = l.divide(thread, tile.threadsAcross());
  SmallVector<Value> a = lhs->column(buffer, k, own);
  SmallVector<Value> b = rhs->column(buffer, k, across);
  Sums next;
  for (Value x : a) {
    for (Value y : b) {
      next.push_back(l.fma(x, y, sums[next.size()]));
    }
  }
  return next;
}

Product::Sums Product::multiply(Value buffer, int64_t depth, ValueRange sums) {
  int64_t whole = depth / kUnrolled * kUnrolled;
  Sums next(sums);
  if (whole > 0) {
    next = body.loop(l.index(0), l.index(whole), kUnrolled, next,
                     [&](Value k, ValueRange carried) {
                       Sums inner(carried);
                       for (int64_t u = 0; u < kUnrolled; ++u) {
                         inner =
                             multiplyOne(buffer, l.add(k, l.index(u)), inner);
                       }
                       return inner;
                     });
  }
  for (int64_t k = whole; k < depth; ++k) {
    next = multiplyOne(buffer, l.index(k), next);
  }
  return next;
}

/// One row of the thread's elements, groups of kGroup beside each other.
void Product::storeRow(Value row, ArrayRef<Value> sums) {
  auto [own, across] = l.divide(threadOfBlock(l), tile.threadsAcross());
  Value start =
      l.mul(l.add(l.mul(batch, l.index(product.m)), row), l.index(product.n));
  for (int64_t group = 0; group < tile.groups; ++group) {
    Value col = l.add(firstCol, tile.placeOf(l, tile.cols, across, group));
    storeGroup(body, l.add(start, col), col, product.n,
               sums.slice(group * kGroup, kGroup),
               product.accumulate ? Addend::elements
               : product.bias     ? Addend::columns
                                  : Addend::none);
  }
}

void Product::store(ArrayRef<Value> sums) {
  auto [own, across] = l.divide(threadOfBlock(l), tile.threadsAcross());
  int64_t width = tile.groups * kGroup;
  for (int64_t i = 0; i < width; ++i) {
    Value row =
        l.add(firstRow, l.add(tile.placeOf(l, tile.rows, own, i / kGroup),
                              l.index(i % kGroup)));
    auto emit = [&] { storeRow(row, sums.slice(i * width, width)); };
    if (product.m % tile.rows == 0) {
      emit();
      continue;
    }
    body.when(l.compare(arith::CmpIPredicate::slt, row, l.index(product.m)),
              emit);
  }
}

// Two buffers in shared memory: what a turn of the loop writes is not what the
// threads that are behind still read.
void Product::emit() {
  int64_t width = tile.groups * kGroup;
  Sums sums(width * width, l.zero(product.element));
  int64_t turns = product.k / tile.depth, rest = product.k % tile.depth;
  Value last = l.index(turns * tile.depth - tile.depth), first = l.index(0);
  if (turns > 0) {
    lhs->write(first, lhs->read(first, tile.depth));
    rhs->write(first, rhs->read(first, tile.depth));
    body.syncBlock();
    sums = body.loop(
        l.index(0), l.index(turns), 1, sums,
        [&](Value turn, ValueRange carried) {
          Value now = l.logicalAnd(turn, l.index(1));
          Value then = l.sub(l.index(1), now);
          // The last turn reads its own again.
          Value next =
              l.min(l.mul(l.add(turn, l.index(1)), l.index(tile.depth)), last);
          SmallVector<Value> a = lhs->read(next, tile.depth);
          SmallVector<Value> b = rhs->read(next, tile.depth);
          Sums inner = multiply(now, tile.depth, carried);
          lhs->write(then, a);
          rhs->write(then, b);
          body.syncBlock();
          return inner;
        });
  }
  if (rest > 0) {
    Value k = l.index(product.k - rest), buffer = l.index((turns + 1) % 2);
    lhs->write(buffer, lhs->read(k, rest));
    rhs->write(buffer, rhs->read(k, rest));
    body.syncBlock();
    sums = multiply(buffer, rest, sums);
  }
  store(sums);
}

} // namespace

FailureOr<CudaKernelInfo>
cuda::emitMatmul(ImplicitLocOpBuilder &b, nn::MatmulOp matmul, StringRef name) {
  FailureOr<MatmulLoops> loops = MatmulLoops::of(matmul);
  if (failed(loops)) {
    return failure();
  }
  Tile tile = chooseTile(*loops);
  Graph graph(Domain{loops->rows, loops->n}, /*reducesColumns=*/true);
  CudaBody body(b, matmul, graph, name, {.block = tile.threads()});
  Product(body, *loops, tile, name).emit();
  body.finish();
  return onlyLaunch({name.str(), blocksOf(*loops, tile), tile.threads()});
}
