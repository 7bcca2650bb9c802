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

SmallVector<Value> ColumnLoops::valuesOf(const ColumnGroup &group, Value row) {
  Lanes &l = body.lanes;
  body.enterRow(row);
  for (Node *node : folds.reductions) {
    body.prepare(node->operands[0]);
  }
  SmallVector<Value> values(folds.reductions.size() * group.chunks);
  for (int64_t u = 0; u < group.chunks; ++u) {
    Chunk chunk = chunkOf(group, u);
    for (auto [i, node] : llvm::enumerate(folds.reductions)) {
      values[i * group.chunks + u] =
          l.splat(body.vector(node->operands[0], chunk));
    }
  }
  return values;
}

SmallVector<Value> ColumnLoops::emitRows(const ColumnGroup &group, Value lo,
                                         Value hi, ValueRange sums) {
  Lanes &l = body.lanes;
  Value begin = group.run ? l.mul(group.run, l.index(folds.length())) : Value();
  auto addRows = [&](Value first, Value end, int64_t count, ValueRange before) {
    return body.loop(
        first, end, count, before, [&](Value row, ValueRange carried) {
          SmallVector<SmallVector<Value>> rows;
          for (int64_t i = 0; i < count; ++i) {
            Value own = i == 0 ? row : l.add(row, l.index(i));
            rows.push_back(valuesOf(group, begin ? l.add(begin, own) : own));
          }
          SmallVector<Value> next(carried);
          for (ArrayRef<Value> values : rows) {
            combineInto(next, values, group.chunks);
          }
          return next;
        });
  };
  if (rowsTogether == 1) {
    return addRows(lo, hi, 1, sums);
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
  for (Node *node : folds.results) {
    body.prepare(node);
  }
  for (int64_t u = 0; u < group.chunks; ++u) {
    Chunk chunk = chunkOf(group, u);
    for (auto [i, node] : llvm::enumerate(folds.reductions)) {
      chunk.values[node] = sums[i * group.chunks + u];
    }
    for (auto [number, node] : llvm::enumerate(folds.results)) {
      body.store(body.resultPointer(number),
                 place ? l.add(place, chunk.col) : chunk.col,
                 l.splat(body.vector(node, chunk)), group.mask, together);
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
