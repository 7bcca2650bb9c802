//===- RowLoops.cpp - how a row of a kernel is computed -------------------===//

#include "codegen/emit/loops/RowLoops.h"

#include "codegen/emit/Elementwise.h"
#include "passes/ir/nn/Numerics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

// A segment of a row is a whole number of turns.
static_assert(nn::kRowSegment % nn::kRowChains == 0);

RowLoops::RowLoops(Body &body, RowSweeps &sweeps, RowThreads threads)
    : body(body), sweeps(sweeps), threads(threads),
      width(threads.count * body.lanes.width), chunks(nn::kRowChains / width) {}

Value RowLoops::ownColumn(Value col) {
  if (!threads.number) {
    return col;
  }
  Lanes &l = body.lanes;
  return l.add(col, l.mul(threads.number, l.index(l.width)));
}

Value RowLoops::ownMask(int64_t rest) {
  Lanes &l = body.lanes;
  if (rest >= width) {
    return {};
  }
  if (!threads.number) {
    return l.maskBelow(rest);
  }
  Value before = l.mul(threads.number, l.index(l.width));
  return l.compare(arith::CmpIPredicate::slt, before, l.index(rest));
}

Value RowLoops::combine(Node *reduction, Value x, Value y) {
  auto kind = cast<nn::ReduceOp>(reduction->op).getKind();
  return emitCombine(body.lanes, kind, reduction->element, x, y);
}

/// `number`: of the chunk among those that hold every chain.
void RowLoops::emitChunk(const Sweep &sweep, Chunk &chunk,
                         SmallVectorImpl<Value> &partial, int64_t number) {
  Lanes &l = body.lanes;
  Value mask = chunk.mask;
  for (auto [i, node] : llvm::enumerate(sweep.reductions)) {
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    Value value = l.splat(body.vector(node->operands[0], chunk));
    if (mask) {
      value = l.select(mask, value,
                       emitNeutral(l, kind, node->element, value.getType()));
    }
    Value &accumulator = partial[i * chunks + number];
    accumulator = combine(node, accumulator, value);
  }
  storeValues(body, sweeps.domain, sweep.stores, row, chunk,
              valuesOf(body, sweep.stores, chunk));
}

SmallVector<Value> RowLoops::neutrals(const Sweep &sweep, bool vectors) {
  Lanes &l = body.lanes;
  SmallVector<Value> values;
  for (Node *node : sweep.reductions) {
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    Type type = valueType(node->element);
    values.append(vectors ? chunks : 1,
                  emitNeutral(l, kind, node->element,
                              vectors ? Type(l.vectorOf(type)) : type));
  }
  return values;
}

/// The chains of each reduction as one scalar.
SmallVector<Value> RowLoops::totals(const Sweep &sweep,
                                    ArrayRef<Value> partial) {
  SmallVector<Value> results;
  for (auto [i, node] : llvm::enumerate(sweep.reductions)) {
    auto combineTwo = [&, node = node](Value x, Value y) {
      return combine(node, x, y);
    };
    results.push_back(
        combineChains(partial.slice(i * chunks, chunks), combineTwo));
  }
  return results;
}

/// Ends a segment: its chains go into the total.
void RowLoops::foldSegment(const Sweep &sweep, State &state) {
  SmallVector<Value> segment = totals(sweep, state.partial);
  for (auto [i, node] : llvm::enumerate(sweep.reductions)) {
    state.total[i] = combine(node, state.total[i], segment[i]);
  }
  state.partial = neutrals(sweep, /*vectors=*/true);
}

void RowLoops::prepare(const Sweep &sweep) {
  for (Node *node : sweep.computed()) {
    body.prepare(node);
  }
}

/// All columns of the row, of each the same chunk in every sweep.
void RowLoops::emitKeptColumns(const Sweep &sweep,
                               SmallVectorImpl<Value> &partial) {
  Lanes &l = body.lanes;
  for (int64_t col = 0; col < sweeps.domain.cols; col += width) {
    auto place = kept.find(col);
    if (place == kept.end()) {
      Chunk chunk(ownColumn(l.index(col)), ownMask(sweeps.domain.cols - col));
      place = kept.try_emplace(col, std::move(chunk)).first;
    }
    emitChunk(sweep, place->second, partial, col / width % chunks);
  }
}

/// Columns [lo, hi), whole turns of the unrolled loop.
void RowLoops::emitColumns(const Sweep &sweep, Value lo, Value hi,
                           SmallVectorImpl<Value> &partial) {
  Lanes &l = body.lanes;
  int64_t together = sweeps.unrolled(sweep, chunks);
  partial = body.loop(
      lo, hi, together * width, partial, [&](Value first, ValueRange carried) {
        SmallVector<Value> inner(carried);
        for (int64_t u = 0; u < together; ++u) {
          Chunk chunk(ownColumn(l.add(first, l.index(u * width))), {});
          emitChunk(sweep, chunk, inner, u);
        }
        return inner;
      });
}

/// Columns [0, cols) of a row of several segments. What the loop carries from
/// one segment to the next is not folded yet, so that the columns after `cols`
/// can still go into the last one; the first turn folds neutral elements, which
/// changes nothing.
void RowLoops::emitSegments(const Sweep &sweep, int64_t cols, State &state) {
  Lanes &l = body.lanes;
  SmallVector<Value> carried = state.partial;
  llvm::append_range(carried, state.total);
  auto split = [&](ArrayRef<Value> values) {
    size_t count = state.partial.size();
    return State{SmallVector<Value>(values.take_front(count)),
                 SmallVector<Value>(values.drop_front(count))};
  };
  SmallVector<Value> ended =
      body.loop(l.index(0), l.index(cols), nn::kRowSegment, carried,
                [&](Value lo, ValueRange values) {
                  State inner = split(SmallVector<Value>(values));
                  foldSegment(sweep, inner);
                  Value hi =
                      l.min(l.add(lo, l.index(nn::kRowSegment)), l.index(cols));
                  emitColumns(sweep, lo, hi, inner.partial);
                  llvm::append_range(inner.partial, inner.total);
                  return inner.partial;
                });
  state = split(ended);
}

int64_t RowLoops::segmentCount() const {
  return int64_t(llvm::divideCeil(sweeps.domain.cols, nn::kRowSegment));
}

int64_t RowLoops::wholeTurns(const Sweep &sweep) {
  int64_t step = sweeps.unrolled(sweep, chunks) * width;
  return sweeps.domain.cols / step * step;
}

/// The segments of this group. Columns after the last whole turn are the last
/// segment's.
void RowLoops::emitOwnSegments(const Sweep &sweep) {
  Lanes &l = body.lanes;
  int64_t cols = sweeps.domain.cols, count = segmentCount();
  int64_t whole = wholeTurns(sweep);
  body.loop(threads.group, l.index(count), threads.groups, {},
            [&](Value segment, ValueRange) {
              Value lo = l.mul(segment, l.index(nn::kRowSegment));
              Value hi =
                  l.min(l.add(lo, l.index(nn::kRowSegment)), l.index(whole));
              SmallVector<Value> partial = neutrals(sweep, /*vectors=*/true);
              emitColumns(sweep, lo, hi, partial);
              Value isLast = l.compare(arith::CmpIPredicate::eq, segment,
                                       l.index(count - 1));
              int64_t number = 0;
              for (int64_t col = whole; col < cols; col += width) {
                Value mask = ownMask(cols - col);
                Chunk chunk(ownColumn(l.index(col)),
                            mask ? l.logicalAnd(mask, isLast) : isLast);
                emitChunk(sweep, chunk, partial, number++);
              }
              keepSegment(sweep, segment, totals(sweep, partial));
              return SmallVector<Value>();
            });
}

/// Every group its segments; then each thread folds all of them.
void RowLoops::emitSharedSweep(const Sweep &sweep) {
  Lanes &l = body.lanes;
  emitOwnSegments(sweep);
  body.endSweep();
  if (sweep.reductions.empty()) {
    return;
  }
  awaitSegments();
  SmallVector<Value> totals =
      body.loop(l.index(0), l.index(segmentCount()), 1,
                neutrals(sweep, /*vectors=*/false),
                [&](Value segment, ValueRange carried) {
                  SmallVector<Value> next(carried);
                  SmallVector<Value> kept = keptSegment(sweep, segment);
                  for (auto [i, node] : llvm::enumerate(sweep.reductions)) {
                    next[i] = combine(node, next[i], kept[i]);
                  }
                  return next;
                });
  for (auto [node, value] : llvm::zip(sweep.reductions, totals)) {
    body.setReduced(node, value);
  }
}

void RowLoops::emitSweep(const Sweep &sweep) {
  prepare(sweep);
  threads.groups > 1 ? emitSharedSweep(sweep) : emitWholeSweep(sweep);
}

void RowLoops::emitWholeSweep(const Sweep &sweep) {
  Lanes &l = body.lanes;
  State state{neutrals(sweep, /*vectors=*/true),
              neutrals(sweep, /*vectors=*/false)};
  int64_t cols = sweeps.domain.cols, col = wholeTurns(sweep);
  bool segments = !sweep.reductions.empty() && cols > nn::kRowSegment;
  if (threads.keepsRow) {
    emitKeptColumns(sweep, state.partial);
    col = cols;
  } else if (segments) {
    emitSegments(sweep, col, state);
    if (col % nn::kRowSegment == 0 && col < cols) {
      foldSegment(sweep, state);
    }
  } else if (col > 0) {
    emitColumns(sweep, l.index(0), l.index(col), state.partial);
  }
  for (int64_t u = 0; col < cols; col += width, ++u) {
    Chunk chunk(ownColumn(l.index(col)), ownMask(cols - col));
    emitChunk(sweep, chunk, state.partial, u);
  }
  body.endSweep();
  if (segments) {
    foldSegment(sweep, state);
  } else {
    state.total = totals(sweep, state.partial);
  }
  for (auto [node, value] : llvm::zip(sweep.reductions, state.total)) {
    body.setReduced(node, value);
  }
}

void RowLoops::emitRow(Value entered) {
  row = entered;
  kept.clear();
  body.enterRow(row);
  for (const Sweep &sweep : sweeps.sweeps) {
    emitSweep(sweep);
  }
  if (sweeps.rowResults.empty()) {
    return;
  }
  SmallVector<Value> values;
  for (const RowResult &result : sweeps.rowResults) {
    values.push_back(body.scalar(result.node));
  }
  once([&] {
    for (auto [result, value] : llvm::zip(sweeps.rowResults, values)) {
      body.store(body.resultPointer(result.number), row, value, {});
    }
  });
}
