//===- AttentionKernel.cpp - what attention and its gradient share --------===//

#include "codegen/host/forms/AttentionKernel.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

void AttentionKernel::run() {
  tiles.begin();
  emitItems();
  tiles.finish();
}

Value AttentionKernel::maskOf(Value query) {
  return shape.queries % queryCols == 0
             ? Value()
             : l.maskBelow(l.sub(l.index(shape.queries), query));
}

void AttentionKernel::forScores(
    Value firstQuery, Value firstKey, Value keys,
    llvm::function_ref<void(Value, int64_t, Chunk &)> emit) {
  Value firstRow = l.add(l.mul(head, l.index(shape.keys)), firstKey);
  body.loop(l.index(0), keys, 1, {}, [&](Value key, ValueRange) {
    body.enterRow(l.add(firstRow, key));
    for (int64_t col = 0; col < queryCols; col += kLanes) {
      Value query = l.add(firstQuery, l.index(col));
      Chunk chunk(query, maskOf(query));
      emit(key, col, chunk);
    }
    return SmallVector<Value>();
  });
}

void AttentionKernel::emitScores(const Tile &scores, const LeftFactor &keys,
                                 const Tile &queries, int64_t size) {
  tiles.fill(scores, 0);
  tiles.multiply(scores, keys, queries, l.index(size));
}

void AttentionKernel::forBlocks(Value lo, Value hi,
                                llvm::function_ref<Value(Value)> sees,
                                llvm::function_ref<void(Value)> emit) {
  body.loop(lo, hi, 1, {}, [&](Value number, ValueRange) {
    Value first = l.mul(number, l.index(kBlock));
    Value seen = sees(first);
    seen ? body.when(seen, [&] { emit(first); }) : emit(first);
    return SmallVector<Value>();
  });
}

Value AttentionKernel::anyMasked(const Tile &maxima, Value firstQuery) {
  Value least;
  for (int64_t col = 0; col < queryCols; col += kLanes) {
    Value value = tiles.load(maxima, l.index(0), col);
    if (Value mask = maskOf(l.add(firstQuery, l.index(col)))) {
      value = l.select(mask, value, l.zero(value.getType()));
    }
    least = least ? l.min(least, value) : value;
  }
  least = l.horizontal(least, [&](Value x, Value y) { return l.min(x, y); });
  return loops.isMasked(l, least);
}

void AttentionKernel::storeRows(
    unsigned result, const Tile &tile, const OperandRows &rows, int64_t size,
    llvm::function_ref<Value(Value, Value)> adjust) {
  StoredRows stored = loops.stored[result].rowsOf(l, rows, size);
  Value pointer = body.resultPointer(loops.stored[result].result);
  body.loop(l.index(0), rows.count, 1, {}, [&](Value row, ValueRange) {
    Value start = l.add(stored.first, l.mul(row, l.index(stored.apart)));
    for (int64_t col = 0; col < size; col += kLanes) {
      Value value = adjust(row, tiles.load(tile, row, col));
      int64_t rest = size - col;
      body.store(pointer, l.add(start, l.index(col)),
                 loops.stored[result].round(l, value),
                 rest < kLanes ? l.maskBelow(rest) : Value());
    }
    return SmallVector<Value>();
  });
}
