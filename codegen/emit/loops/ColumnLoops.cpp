//===- ColumnLoops.cpp - how columns of a kernel are computed -------------===//

#include "codegen/emit/loops/ColumnLoops.h"

#include "codegen/emit/Elementwise.h"
#include "passes/ir/nn/Numerics.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

Chunk ColumnLoops::chunkOf(const ColumnGroup &group, int64_t number) {
  Lanes &l = body.lanes;
  return Chunk(l.add(group.col, l.index(number * l.width)), group.mask);
}

SmallVector<Value> ColumnLoops::neutrals(int64_t chunks) {
  Lanes &l = body.lanes;
  SmallVector<Value> sums;
  for (Node *node : folds.reductions) {
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    sums.append(chunks, emitNeutral(l, kind, node->element,
                                    l.vectorOf(valueType(node->element))));
  }
  return sums;
}

void ColumnLoops::combineInto(SmallVectorImpl<Value> &sums, ValueRange block,
                              int64_t chunks) {
  for (size_t i = 0; i < sums.size(); ++i) {
    Node *node = folds.reductions[i / chunks];
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    sums[i] = emitCombine(body.lanes, kind, node->element, sums[i], block[i]);
  }
}

ColumnLoops::Row ColumnLoops::valuesOf(const ColumnGroup &group, Value number) {
  Lanes &l = body.lanes;
  body.enterRow(number);
  for (Node *node : folds.reductions) {
    body.prepare(node->operands[0]);
  }
  for (const RowResult &result : folds.stored) {
    body.prepare(result.node);
  }
  Row row{number, {}, {}};
  row.added.resize(folds.reductions.size() * group.chunks);
  for (int64_t u = 0; u < group.chunks; ++u) {
    Chunk chunk = chunkOf(group, u);
    for (auto [i, node] : llvm::enumerate(folds.reductions)) {
      row.added[i * group.chunks + u] =
          l.splat(body.vector(node->operands[0], chunk));
    }
    row.stored.push_back(emit::valuesOf(body, folds.stored, chunk));
  }
  return row;
}

void ColumnLoops::store(const ColumnGroup &group, const Row &row) {
  for (auto [u, values] : llvm::enumerate(row.stored)) {
    storeValues(body, folds.domain, folds.stored, row.number, chunkOf(group, u),
                values);
  }
}

SmallVector<Value> ColumnLoops::emitRows(const ColumnGroup &group, Value lo,
                                         Value hi, ValueRange sums) {
  Lanes &l = body.lanes;
  Value begin = group.run ? l.mul(group.run, l.index(folds.length())) : Value();
  auto addRows = [&](Value first, Value end, int64_t count, ValueRange before) {
    return body.loop(
        first, end, count, before, [&](Value row, ValueRange carried) {
          SmallVector<Row> rows;
          for (int64_t i = 0; i < count; ++i) {
            Value own = i == 0 ? row : l.add(row, l.index(i));
            rows.push_back(valuesOf(group, begin ? l.add(begin, own) : own));
          }
          SmallVector<Value> next(carried);
          for (const Row &own : rows) {
            store(group, own);
            combineInto(next, own.added, group.chunks);
          }
          return next;
        });
  };
  // Blocks have multiples of it, so the last one has what is left of all rows.
  if (folds.length() % rowsTogether == 0) {
    return addRows(lo, hi, rowsTogether, sums);
  }
  Value rest = l.divide(l.sub(hi, lo), rowsTogether).second;
  Value whole = l.sub(hi, rest);
  return addRows(whole, hi, 1, addRows(lo, whole, rowsTogether, sums));
}

void ColumnLoops::emitResults(const ColumnGroup &group, ArrayRef<Value> sums) {
  Lanes &l = body.lanes;
  body.enterRow(l.index(0));
  Value place =
      group.run ? l.mul(group.run, l.index(folds.domain.cols)) : Value();
  int64_t together = std::gcd(l.width, folds.domain.cols);
  for (const RowResult &result : folds.results) {
    body.prepare(result.node);
  }
  for (int64_t u = 0; u < group.chunks; ++u) {
    Chunk chunk = chunkOf(group, u);
    for (auto [i, node] : llvm::enumerate(folds.reductions)) {
      chunk.values[node] = sums[i * group.chunks + u];
    }
    for (const RowResult &result : folds.results) {
      body.store(body.resultPointer(result.number),
                 place ? l.add(place, chunk.col) : chunk.col,
                 l.splat(body.vector(result.node, chunk)), group.mask,
                 together);
    }
  }
}

void ColumnLoops::emitGroup(const ColumnGroup &group) {
  Lanes &l = body.lanes;
  SmallVector<Value> sums = neutrals(group.chunks);
  Value rows = l.index(folds.length());
  if (folds.length() <= nn::kRowBlock) {
    sums = emitRows(group, l.index(0), rows, sums);
  } else {
    sums = body.loop(
        l.index(0), rows, nn::kRowBlock, sums,
        [&](Value lo, ValueRange carried) {
          Value hi = l.min(l.add(lo, l.index(nn::kRowBlock)), rows);
          SmallVector<Value> total(carried);
          combineInto(total, emitRows(group, lo, hi, neutrals(group.chunks)),
                      group.chunks);
          return total;
        });
  }
  emitResults(group, sums);
}
