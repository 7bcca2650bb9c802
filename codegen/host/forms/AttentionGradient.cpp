//===- AttentionGradient.cpp - the gradient of attention by blocks --------===//

#include "codegen/emit/Math.h"
#include "codegen/host/forms/AttentionKernel.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

/// First the gradient of queries, a block of them by all keys; then that of
/// keys and values, a block of them by all queries.
class Backward final : public AttentionKernel {
public:
  Backward(HostBody &body, AttentionLoops &loops, unsigned results,
           int64_t vectors)
      : AttentionKernel(body, loops, results, vectors),
        dout(body, loops.dout, results), max(body, loops.max, results),
        inverse(body, loops.inverse, results),
        delta(body, loops.delta, results) {
    plainQueries = tiles.allocate(queryCols, shape.size);
    queries = tiles.allocate(shape.size, queryCols);
    plainDout = tiles.allocate(queryCols, shape.valueSize);
    douts = tiles.allocate(shape.valueSize, queryCols);
    keys = tiles.allocate(keyRows, shape.size);
    values = tiles.allocate(keyRows, shape.valueSize);
    scores = tiles.allocate(keyRows, queryCols);
    gradients = tiles.allocate(keyRows, queryCols);
    int64_t rows = std::max(queryCols, keyRows);
    ofFirst = tiles.allocate(rows, shape.size);
    ofValues = tiles.allocate(keyRows, shape.valueSize);
    maxima = tiles.allocate(1, queryCols);
    inverses = tiles.allocate(1, queryCols);
    deltas = tiles.allocate(1, queryCols);
    tiles.fill(plainQueries, 0);
    tiles.fill(plainDout, 0);
  }

  void emit(Value item) {
    Value ofQueries = l.index(loops.allQueryBlocks());
    body.when(l.compare(arith::CmpIPredicate::slt, item, ofQueries),
              [&] { emitQueries(item); });
    body.when(l.compare(arith::CmpIPredicate::sge, item, ofQueries),
              [&] { emitKeys(l.sub(item, ofQueries)); });
  }

private:
  void emitQueries(Value item) {
    int64_t blocks = loops.queryBlocks();
    head = quotient(item, blocks);
    Value query = l.mul(remainder(item, blocks), l.index(kBlock));
    Tile dq = ofFirst;
    dq.rows = queryCols;
    tiles.fill(dq, 0);
    bringRows(query);
    bringQueries(query);
    forBlocks(
        l.index(0), l.index(loops.keyBlocks()),
        [&](Value key) { return sees(query, key); },
        [&](Value key) {
          OperandRows rows = keysFrom(key);
          bringKeys(rows);
          computeGradients(query, key, rows.count);
          tiles.multiply(dq, LeftFactor::transposed(gradients), keys,
                         rows.count);
        });
    storeRows(0, dq, queriesFrom(query), shape.size, same);
  }
  void emitKeys(Value item) {
    int64_t blocks = loops.keyBlocks();
    Value key = l.mul(remainder(item, blocks), l.index(kBlock));
    Value first = l.mul(quotient(item, blocks), l.index(shape.group()));
    head = first;
    OperandRows rows = keysFrom(key);
    Tile dk = ofFirst;
    dk.rows = keys.rows;
    tiles.fill(dk, 0);
    tiles.fill(ofValues, 0);
    bringKeys(rows);
    body.loop(l.index(0), l.index(shape.group()), 1, {},
              [&](Value member, ValueRange) {
                head = l.add(first, member);
                addQueries(key, rows.count, dk);
                return SmallVector<Value>();
              });
    storeRows(1, dk, rows, shape.size, same);
    storeRows(2, ofValues, rows, shape.valueSize, same);
  }
  /// Adds what the queries of a head contribute to the gradients of keys and
  /// values.
  void addQueries(Value key, Value keyCount, const Tile &dk) {
    forBlocks(
        l.index(0), l.index(loops.queryBlocks()),
        [&](Value query) {
          bringRows(query);
          return sees(query, key);
        },
        [&](Value query) {
          bringQueries(query);
          computeGradients(query, key, keyCount);
          Value count = queriesFrom(query).count;
          tiles.multiply(ofValues, LeftFactor::plain(scores), plainDout, count);
          tiles.multiply(dk, LeftFactor::plain(gradients), plainQueries, count);
        });
  }
  static Value same(Value, Value value) { return value; }
  Value sees(Value query, Value key) {
    Value seen = loops.sees(l, query, key);
    return seen ? either(seen, anyMasked(maxima, query)) : seen;
  }
  void bringKeys(const OperandRows &rows) {
    tiles.bring(k.body, k.node, rows, keys);
    tiles.bring(v.body, v.node, rows, values);
  }
  void bringQueries(Value query) {
    OperandRows rows = queriesFrom(query);
    tiles.bring(q.body, q.node, rows, plainQueries);
    tiles.transpose(plainQueries, queries);
    tiles.bring(dout.body, dout.node, rows, plainDout);
    tiles.transpose(plainDout, douts);
  }
  /// Brings what there is one number of a query.
  void bringRows(Value query) {
    auto bring = [&](OperandReader &reader, const Tile &tile) {
      reader.body.enterRow(head);
      reader.body.prepare(reader.node);
      for (int64_t col = 0; col < queryCols; col += kLanes) {
        Value first = l.add(query, l.index(col));
        Chunk chunk(first, maskOf(first));
        tiles.store(tile, l.index(0), col,
                    l.splat(reader.body.vector(reader.node, chunk)));
      }
    };
    bring(max, maxima);
    bring(inverse, inverses);
    bring(delta, deltas);
  }
  /// Makes probabilities of the scores, and the gradients of the scores.
  void computeGradients(Value query, Value key, Value count) {
    emitScores(scores, keys, queries, shape.size);
    emitScores(gradients, values, douts, shape.valueSize);
    forScores(query, key, count, [&](Value row, int64_t col, Chunk &chunk) {
      Value x = loops.emitScores(body, chunk, tiles.load(scores, row, col));
      Value shifted = l.sub(x, tiles.load(maxima, l.index(0), col));
      Value p = l.mul(emitFloatUnary(l, nn::UnaryKind::exp, shifted),
                      tiles.load(inverses, l.index(0), col));
      tiles.store(scores, row, col, loops.emitWeighed(body, chunk, p));
      Value above =
          l.sub(loops.emitWeighed(body, chunk, tiles.load(gradients, row, col)),
                tiles.load(deltas, l.index(0), col));
      tiles.store(gradients, row, col,
                  loops.emitGradient(body, chunk, l.mul(p, above)));
    });
  }

  OperandReader dout, max, inverse, delta;
  Tile plainQueries, queries, plainDout, douts, keys, values, scores, gradients;
  Tile ofFirst, ofValues, maxima, inverses, deltas;
};

} // namespace

void host::emitAttentionGradient(HostBody &body, AttentionLoops &loops,
                                 unsigned results, int64_t vectors) {
  Backward backward(body, loops, results, vectors);
  body.loop(body.begin, body.end, 1, {}, [&](Value item, ValueRange) {
    backward.emit(item);
    return SmallVector<Value>();
  });
}
