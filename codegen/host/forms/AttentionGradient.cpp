//===- AttentionGradient.cpp - the gradient of attention by blocks --------===//

#include "codegen/emit/Math.h"
#include "codegen/host/forms/AttentionKernel.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

/// Computes the gradient of a block of queries by all keys, that of a block of
/// keys and values by all queries, or that of a block of a bias by all samples;
/// and those of a head at once, where a call has all of its blocks.
class Backward final : public AttentionKernel {
public:
  Backward(HostBody &body, AttentionLoops &loops, TileProducts products)
      : AttentionKernel(body, loops, products), dout(body, loops.dout, kLanes),
        max(body, loops.max, kLanes), inverse(body, loops.inverse, kLanes),
        delta(body, loops.delta, kLanes) {
    plainQueries = tiles.allocate(queryCols, shape.size);
    queries = tiles.allocate(shape.size, queryCols);
    plainDout = tiles.allocate(queryCols, shape.valueSize);
    douts = tiles.allocate(shape.valueSize, queryCols);
    keys = tiles.allocate(keyRows, shape.size);
    values = tiles.allocate(keyRows, shape.valueSize);
    scores = tiles.allocate(keyRows, queryCols);
    gradients = tiles.allocate(keyRows, queryCols);
    for (Value *scratch :
         {&queryScratch, &doutScratch, &keyScratch, &valueScratch}) {
      *scratch = tiles.allocateScratch();
    }
    int64_t rows = std::max(queryCols, keyRows);
    ofFirst = tiles.allocate(rows, shape.size);
    ofValues = tiles.allocate(keyRows, shape.valueSize);
    maxima = tiles.allocate(1, queryCols);
    inverses = tiles.allocate(1, queryCols);
    deltas = tiles.allocate(1, queryCols);
    if (loops.ofBias) {
      ofBias = tiles.allocate(keyRows, queryCols);
      ofSamples = tiles.allocate(keyRows, queryCols);
    }
    if (loops.holdsHeads()) {
      ofQueries = tiles.allocate(
          shape.group() * loops.queryBlocks() * queryCols, shape.size);
      keyColumnScratch = tiles.allocateScratch();
    }
  }

private:
  /// Takes the heads of keys in turn, and then the blocks of a bias. A head has
  /// the blocks of its queries, and then those of its keys.
  void emitItems() override {
    tiles.fill(plainQueries, 0);
    tiles.fill(plainDout, 0);
    int64_t ofHead = queryItems() + loops.keyBlocks();
    Value firstOfBias = l.index(loops.allKeyHeads() * ofHead);
    Value end = l.min(body.end, firstOfBias);
    Value last = l.divide(l.add(end, l.index(ofHead - 1)), ofHead).first;
    body.loop(l.divide(body.begin, ofHead).first, last, 1, {},
              [&](Value keyHead, ValueRange) {
                Value first = l.mul(keyHead, l.index(ofHead));
                emitHead(keyHead, l.sub(l.max(body.begin, first), first),
                         l.min(l.sub(end, first), l.index(ofHead)));
                return SmallVector<Value>();
              });
    if (loops.ofBias) {
      body.loop(l.max(body.begin, firstOfBias), body.end, 1, {},
                [&](Value item, ValueRange) {
                  loops.forBiasBlock(l, l.sub(item, firstOfBias),
                                     [&](Value number, Value query, Value key) {
                                       emitBias(number, query, key);
                                     });
                  return SmallVector<Value>();
                });
    }
  }
  /// Returns how many blocks of queries share a head of keys.
  int64_t queryItems() const { return shape.group() * loops.queryBlocks(); }
  /// Computes items `lo` to `hi` of a head of keys. Of all of them it makes the
  /// scores once, with blocks of keys, which then add to the gradients of the
  /// queries too.
  void emitHead(Value keyHead, Value lo, Value hi) {
    Value first = l.mul(keyHead, l.index(shape.group()));
    Value queries = l.index(queryItems());
    Value end = l.min(hi, queries);
    if (loops.holdsHeads()) {
      int64_t all = queryItems() + loops.keyBlocks();
      whole = l.compare(arith::CmpIPredicate::eq, l.sub(hi, lo), l.index(all));
      body.when(whole, [&] { tiles.fill(ofQueries, 0); });
      end = l.select(whole, l.index(0), end);
    }
    forQueries(first, lo, end, [&](Value, Value query) { emitQueries(query); });
    body.loop(l.max(lo, queries), hi, 1, {}, [&](Value item, ValueRange) {
      Value block = l.sub(item, queries);
      emitKeys(first, l.mul(block, l.index(kBlock)));
      return SmallVector<Value>();
    });
    if (loops.holdsHeads()) {
      body.when(whole, [&] {
        forQueries(first, l.index(0), queries, [&](Value member, Value query) {
          storeRows(0, gradientOf(member, query), queriesFrom(query),
                    shape.size, same);
        });
      });
    }
  }
  /// Calls emit(number, first query) for blocks `lo` to `hi` of the queries
  /// that share a head of keys; head `first` of the queries has number 0.
  void forQueries(Value first, Value lo, Value hi,
                  llvm::function_ref<void(Value, Value)> emit) {
    body.loop(lo, hi, 1, {}, [&](Value item, ValueRange) {
      auto [member, query] = loops.placeOf(l, item, loops.queryBlocks());
      head = l.add(first, member);
      emit(member, query);
      return SmallVector<Value>();
    });
  }
  /// Returns the gradient of a block of the queries of a head.
  Tile gradientOf(Value member, Value query) {
    Value rows = l.mul(member, l.index(loops.queryBlocks() * queryCols));
    Tile tile = ofQueries;
    tile.rows = queryCols;
    tile.pointer = body.address(
        ofQueries.pointer, l.mul(l.add(rows, query), l.index(ofQueries.cols)),
        loops.element);
    return tile;
  }
  void emitQueries(Value query) {
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
          tiles.multiply(dq, LeftFactor::transpose(gradients), keys,
                         rows.count);
        });
    storeRows(0, dq, queriesFrom(query), shape.size, same);
  }
  /// Computes a block of keys, whose heads of queries begin with `first`.
  void emitKeys(Value first, Value key) {
    head = first;
    OperandRows rows = keysFrom(key);
    Tile dk = ofFirst;
    dk.rows = keys.rows;
    tiles.fill(dk, 0);
    tiles.fill(ofValues, 0);
    bringKeys(rows);
    if (loops.holdsHeads()) {
      keyColumns = tiles.prepareRight(keys, rows.count, keyColumnScratch);
    }
    body.loop(l.index(0), l.index(shape.group()), 1, {},
              [&](Value member, ValueRange) {
                head = l.add(first, member);
                addQueries(key, rows.count, dk, member);
                return SmallVector<Value>();
              });
    storeRows(1, dk, rows, shape.size, same);
    storeRows(2, ofValues, rows, shape.valueSize, same);
  }
  /// Adds what the queries of a head contribute to the gradients of keys and
  /// values and, of whole heads, what the keys contribute to theirs.
  void addQueries(Value key, Value keyCount, const Tile &dk, Value member) {
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
          if (loops.holdsHeads()) {
            body.when(whole, [&] {
              tiles.multiply(gradientOf(member, query),
                             LeftFactor::transpose(gradients), keyColumns,
                             keyCount);
            });
          }
        });
  }
  /// Computes a block of the bias of a head that each sample has.
  void emitBias(Value ofSample, Value query, Value key) {
    tiles.fill(ofBias, 0);
    Value all = l.index(shape.batch);
    body.loop(l.index(0), all, nn::kRowBlock, {}, [&](Value lo, ValueRange) {
      tiles.fill(ofSamples, 0);
      Value hi = l.min(l.add(lo, l.index(nn::kRowBlock)), all);
      body.loop(lo, hi, 1, {}, [&](Value sample, ValueRange) {
        head = l.add(l.mul(sample, l.index(shape.heads)), ofSample);
        bringRows(query);
        Value seen = sees(query, key);
        seen ? body.when(seen, [&] { addSample(query, key); })
             : addSample(query, key);
        return SmallVector<Value>();
      });
      tiles.add(ofBias, ofSamples);
      return SmallVector<Value>();
    });
    storeBias(loops.biasFrom(l, ofSample, key), query);
  }
  /// Adds what a sample's head contributes to the gradient of the bias.
  void addSample(Value query, Value key) {
    OperandRows rows = keysFrom(key);
    bringKeys(rows);
    bringQueries(query);
    computeGradients(query, key, rows.count, /*isOfBias=*/true);
    tiles.add(ofSamples, gradients);
  }
  void storeBias(const OperandRows &rows, Value query) {
    body.loop(l.index(0), rows.count, 1, {}, [&](Value row, ValueRange) {
      Value line = l.mul(l.add(rows.first, row), l.index(shape.queries));
      for (int64_t col = 0; col < queryCols; col += kLanes) {
        Value first = l.add(query, l.index(col));
        Value value = loops.stored[3].round(l, tiles.load(ofBias, row, col));
        body.store(body.resultPointer(loops.stored[3].result),
                   l.add(line, first), value, maskOf(first));
      }
      return SmallVector<Value>();
    });
  }
  static Value same(Value, Value value) { return value; }
  Value sees(Value query, Value key) {
    return loops.sees(l, query, key, [&] { return anyMasked(maxima, query); });
  }
  void bringKeys(const OperandRows &rows) {
    tiles.bring(k.body, k.node, rows, keys);
    tiles.bring(v.body, v.node, rows, values);
    leftKeys =
        tiles.prepare(LeftFactor::plain(keys), l.index(shape.size), keyScratch);
    leftValues = tiles.prepare(LeftFactor::plain(values),
                               l.index(shape.valueSize), valueScratch);
  }
  void bringQueries(Value query) {
    OperandRows rows = queriesFrom(query);
    tiles.bring(q.body, q.node, rows, plainQueries);
    tiles.transpose(plainQueries, queries);
    tiles.bring(dout.body, dout.node, rows, plainDout);
    tiles.transpose(plainDout, douts);
    rightQueries =
        tiles.prepareRight(queries, l.index(shape.size), queryScratch);
    rightDouts =
        tiles.prepareRight(douts, l.index(shape.valueSize), doutScratch);
  }
  /// Brings the maxima, inverses and deltas of a block of queries.
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
  /// Computes probabilities in `scores`, and gradients of scores, or of the
  /// bias, in `gradients`.
  void computeGradients(Value query, Value key, Value count,
                        bool isOfBias = false) {
    emitScores(scores, leftKeys, rightQueries, shape.size);
    emitScores(gradients, leftValues, rightDouts, shape.valueSize);
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
                  loops.emitGradient(body, chunk, l.mul(p, above), isOfBias));
    });
  }

  OperandReader dout, max, inverse, delta;
  Tile plainQueries, queries, plainDout, douts, keys, values, scores, gradients;
  /// Hold queries, keys and what comes with them as factors, in scratch of
  /// their own.
  Tile rightQueries, rightDouts;
  LeftFactor leftKeys, leftValues;
  Value queryScratch, doutScratch, keyScratch, valueScratch;
  /// Says whether a call has all blocks of a head. Then the tiles hold the
  /// gradients of its queries, and a block of keys as the right factor of
  /// these.
  Value whole;
  Tile ofQueries, keyColumns;
  Value keyColumnScratch;
  Tile ofFirst, ofValues, ofBias, ofSamples, maxima, inverses, deltas;
};

} // namespace

void host::emitAttentionGradient(HostBody &body, AttentionLoops &loops,
                                 TileProducts products) {
  Backward(body, loops, products).run();
}
