//===- AttentionBlock.cpp - products of the threads of a block ------------===//

#include "codegen/cuda/forms/AttentionBlock.h"

#include "codegen/cuda/forms/Together.h"
#include "codegen/cuda/forms/Vectors.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

AttentionBlock::AttentionBlock(CudaBody &body, AttentionLoops &loops,
                               StringRef name)
    : body(body), l(body.lanes), loops(loops) {
  auto [row, col] = l.divide(threadOfBlock(l), kAcross);
  ownRow = l.mul(row, l.index(kOwn));
  ownCol = l.mul(col, l.index(kOwn));
  auto declare = [&](StringRef what, int64_t count) {
    return body.declareShared((name + "_" + what).str(), loops.element, count);
  };
  tile = declare("tile", kTile * kPitch);
  maxima = declare("maxima", kTile);
  sums = declare("sums", kTile);
  deltas = declare("deltas", kTile);
  leftPart = declare("left", kDepth * kPitch);
  rightPart = declare("right", kDepth * kPitch);
}

Sums AttentionBlock::zeros(int64_t tiles) {
  return Sums(tiles * kOwn * kOwn, l.zero(loops.element));
}

OperandReader AttentionBlock::readerOf(AttentionOperand &operand) {
  int64_t width = sharedWidth(*operand.graph, kOwn);
  return OperandReader(body, operand, width < kOwn ? 1 : kOwn);
}

Sums AttentionBlock::load(Value pointer, Value offset, int64_t count) {
  return elementsOf(l, loadTogether(l, pointer, offset, loops.element, count));
}

void AttentionBlock::store(Value pointer, Value offset,
                           ArrayRef<Value> values) {
  storeTogether(l, pointer, offset, joined(l, values));
}

/// Reads kOwn elements of a row from `col` on; beyond the operand's end, others
/// of it.
Sums AttentionBlock::read(OperandReader &reader, const OperandRows &rows,
                          Value row, Value col) {
  int64_t cols = reader.body.graph.getDomain().cols;
  int64_t width = reader.body.lanes.width;
  Value own = l.min(row, l.sub(rows.count, l.index(1)));
  reader.body.enterRow(l.add(rows.first, l.mul(own, l.index(rows.step))));
  reader.body.prepare(reader.node);
  Sums values;
  for (int64_t i = 0; i < kOwn; i += width) {
    Value place = l.min(l.add(col, l.index(i)), l.index(cols - width));
    Chunk chunk(place, {});
    Value value =
        reader.body.lanes.splat(reader.body.vector(reader.node, chunk));
    llvm::append_range(values, elementsOf(l, value));
  }
  return values;
}

void AttentionBlock::bringRows(OperandReader &reader, const OperandRows &rows,
                               Value col, Value shared) {
  auto [row, part] = l.divide(threadOfBlock(l), kDepth / kOwn);
  Value depth = l.mul(part, l.index(kOwn));
  Sums values = read(reader, rows, row, l.add(col, depth));
  for (auto [i, value] : llvm::enumerate(values)) {
    Value line = l.add(depth, l.index(int64_t(i)));
    store(shared, l.add(l.mul(line, l.index(kPitch)), row), value);
  }
}

void AttentionBlock::bringDepth(OperandReader &reader, const OperandRows &rows,
                                Value firstRow, int64_t col, Value shared) {
  auto [row, part] = l.divide(threadOfBlock(l), kAcross);
  Value across = l.mul(part, l.index(kOwn));
  Sums values =
      read(reader, rows, l.add(firstRow, row), l.add(across, l.index(col)));
  store(shared, l.add(l.mul(row, l.index(kPitch)), across), values);
}

/// Adds `depth` numbers of a shared left part, from one of its rows on, times
/// the right part.
Sums AttentionBlock::multiply(Value left, Value leftRow, Value depth,
                              ValueRange sums) {
  auto one = [&](Value k, ValueRange carried) {
    Value leftLine = l.mul(l.add(leftRow, k), l.index(kPitch));
    Sums a = load(left, l.add(leftLine, ownRow));
    Sums b = load(rightPart, l.add(l.mul(k, l.index(kPitch)), ownCol));
    SmallVector<Value> next;
    for (Value x : a) {
      for (Value y : b) {
        next.push_back(l.fma(x, y, carried[next.size()]));
      }
    }
    return next;
  };
  constexpr int64_t kUnrolled = 4;
  Value whole = l.mul(l.b.create<arith::DivUIOp>(depth, l.index(kUnrolled)),
                      l.index(kUnrolled));
  SmallVector<Value> next = body.loop(
      l.index(0), whole, kUnrolled, sums, [&](Value k, ValueRange carried) {
        SmallVector<Value> inner(carried);
        for (int64_t u = 0; u < kUnrolled; ++u) {
          inner = one(l.add(k, l.index(u)), inner);
        }
        return inner;
      });
  return body.loop(whole, depth, 1, next, one);
}

Sums AttentionBlock::multiplyRows(OperandReader &left,
                                  const OperandRows &leftRows,
                                  OperandReader &right,
                                  const OperandRows &rightRows, int64_t size) {
  return body.loop(l.index(0), l.index(size), kDepth, zeros(),
                   [&](Value col, ValueRange carried) {
                     body.syncBlock();
                     bringRows(left, leftRows, col, leftPart);
                     bringRows(right, rightRows, col, rightPart);
                     body.syncBlock();
                     Value depth =
                         l.min(l.index(kDepth), l.sub(l.index(size), col));
                     return multiply(leftPart, l.index(0), depth, carried);
                   });
}

Sums AttentionBlock::addProduct(ValueRange sums, OperandReader &right,
                                const OperandRows &rows, int64_t size) {
  Sums result;
  constexpr int64_t kNumbers = kOwn * kOwn;
  for (int64_t col = 0; col < size; col += kTile) {
    ValueRange own = sums.slice(col / kTile * kNumbers, kNumbers);
    llvm::append_range(
        result, body.loop(l.index(0), rows.count, kDepth, own,
                          [&](Value row, ValueRange carried) {
                            body.syncBlock();
                            bringDepth(right, rows, row, col, rightPart);
                            body.syncBlock();
                            Value depth =
                                l.min(l.index(kDepth), l.sub(rows.count, row));
                            return multiply(tile, row, depth, carried);
                          }));
  }
  return result;
}

void AttentionBlock::share(ArrayRef<Value> sums, bool transposed) {
  body.syncBlock();
  for (int64_t i = 0; i < kOwn; ++i) {
    Sums line;
    for (int64_t j = 0; j < kOwn; ++j) {
      line.push_back(sums[transposed ? j * kOwn + i : i * kOwn + j]);
    }
    Value row = l.add(transposed ? ownCol : ownRow, l.index(i));
    store(tile,
          l.add(l.mul(row, l.index(kPitch)), transposed ? ownRow : ownCol),
          line);
  }
  body.syncBlock();
}

void AttentionBlock::storeRows(unsigned result, ArrayRef<Value> sums,
                               const OperandRows &rows, int64_t size,
                               llvm::function_ref<Value(int64_t, Value)> adjust,
                               Value first) {
  int64_t together = size % kOwn == 0 ? kOwn : 1;
  StoredRows kept = loops.stored[result].rowsOf(l, rows, size);
  Value pointer = body.resultPointer(loops.stored[result].result);
  for (auto [number, value] : llvm::enumerate(sums)) {
    if (number % together != 0) {
      continue;
    }
    int64_t place = int64_t(number) % (kOwn * kOwn);
    int64_t firstCol = int64_t(number) / (kOwn * kOwn) * kTile + place % kOwn;
    Value row = l.add(ownRow, l.index(place / kOwn));
    Value col = l.add(ownCol, l.index(firstCol));
    col = first ? l.add(first, col) : col;
    Value inside =
        l.logicalAnd(l.compare(arith::CmpIPredicate::slt, row, rows.count),
                     l.compare(arith::CmpIPredicate::slt, col, l.index(size)));
    body.when(inside, [&, number = number] {
      Sums stored;
      for (Value own : sums.slice(number, together)) {
        stored.push_back(
            loops.stored[result].round(l, adjust(place / kOwn, own)));
      }
      Value line = l.add(kept.first, l.mul(row, l.index(kept.apart)));
      store(pointer, l.add(line, col), stored);
    });
  }
}
