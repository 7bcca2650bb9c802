//===- Attention.cpp - attention and its gradient by blocks ---------------===//
//
// A thread computes a block of queries, or of keys: tiles of scores, keys by
// queries, in vectors of sixteen queries. What it needs of queries, keys and
// values lies in tiles of its own, which fit in a cache.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/Math.h"
#include "codegen/emit/loops/AttentionLoops.h"
#include "codegen/host/forms/AttentionTiles.h"
#include "codegen/host/forms/Forms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

constexpr int64_t kBlock = AttentionLoops::kBlock;
/// Scores of a block of queries are kept up to so many bytes; of more keys they
/// are computed again once their maximum is known.
constexpr int64_t kKeptScores = 256 << 10;

/// Emits the values of an operand.
struct Reader {
  Reader(HostBody &body, AttentionOperand &operand, unsigned results)
      : node(operand.node),
        body(body.lanes.b, *operand.graph,
             SmallVector<Value>(body.bufferPointers()), results, kLanes) {
    this->body.enterKernel();
  }

  Node *node;
  Body body;
};

/// Has what forward and backward have in common.
class Blocks {
public:
  Blocks(HostBody &body, AttentionLoops &loops, unsigned results,
         int64_t vectors)
      : body(body), l(body.lanes), loops(loops), shape(loops.shape),
        tiles(body, loops.element, vectors), q(body, loops.q, results),
        k(body, loops.k, results), v(body, loops.v, results),
        queryCols(llvm::alignTo(std::min(shape.queries, kBlock), kLanes)),
        keyRows(std::min(shape.keys, kBlock)) {}

protected:
  Value quotient(Value x, int64_t by) {
    return l.b.create<arith::DivUIOp>(x, l.index(by));
  }
  Value remainder(Value x, int64_t by) {
    return l.b.create<arith::RemUIOp>(x, l.index(by));
  }
  OperandRows queriesFrom(Value first) {
    return loops.queriesFrom(l, head, first);
  }
  OperandRows keysFrom(Value first) { return loops.keysFrom(l, head, first); }
  /// The queries of a chunk that there are; null: all.
  Value maskOf(Value query) {
    return shape.queries % queryCols == 0
               ? Value()
               : l.maskBelow(l.sub(l.index(shape.queries), query));
  }
  /// emit(key, chunk's first query within the block, chunk) for each key of a
  /// block and the queries of another.
  void forScores(Value firstQuery, Value firstKey, Value keys,
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
  /// Scores of a block of queries, transposed, by a block of keys.
  void emitScores(const Tile &scores, const Tile &keys, const Tile &queries,
                  int64_t size) {
    tiles.fill(scores, 0);
    tiles.multiply(scores, LeftFactor::plain(keys), queries, l.index(size));
  }
  /// emit(first) for each block in [lo, hi) of which `sees` says so.
  void forBlocks(Value lo, Value hi, llvm::function_ref<Value(Value)> sees,
                 llvm::function_ref<void(Value)> emit) {
    body.loop(lo, hi, 1, {}, [&](Value number, ValueRange) {
      Value first = l.mul(number, l.index(kBlock));
      Value seen = sees(first);
      seen ? body.when(seen, [&] { emit(first); }) : emit(first);
      return SmallVector<Value>();
    });
  }
  /// Returns whether all keys of some query of the block are masked, whose
  /// maxima these are.
  Value anyMasked(const Tile &rows, Value firstQuery) {
    Value least;
    for (int64_t col = 0; col < queryCols; col += kLanes) {
      Value value = tiles.load(rows, l.index(0), col);
      if (Value mask = maskOf(l.add(firstQuery, l.index(col)))) {
        value = l.select(mask, value, l.zero(value.getType()));
      }
      least = least ? l.min(least, value) : value;
    }
    least = l.horizontal(least, [&](Value x, Value y) { return l.min(x, y); });
    return loops.isMasked(l, least);
  }
  Value either(Value x, Value y) { return l.b.create<arith::OrIOp>(x, y); }
  /// Stores the rows of a tile, or what `adjust` makes of each vector, as rows
  /// of a result.
  void storeRows(unsigned result, const Tile &tile, const OperandRows &rows,
                 int64_t size, llvm::function_ref<Value(Value, Value)> adjust) {
    body.loop(l.index(0), rows.count, 1, {}, [&](Value row, ValueRange) {
      Value place = l.add(rows.first, l.mul(row, l.index(rows.step)));
      Value start = l.mul(place, l.index(size));
      for (int64_t col = 0; col < size; col += kLanes) {
        Value value = adjust(row, tiles.load(tile, row, col));
        int64_t rest = size - col;
        body.store(body.resultPointer(result), l.add(start, l.index(col)),
                   loops.emitResult(l, result, value),
                   rest < kLanes ? l.maskBelow(rest) : Value());
      }
      return SmallVector<Value>();
    });
  }

  HostBody &body;
  Lanes &l;
  AttentionLoops &loops;
  const nn::AttentionShape &shape;
  AttentionTiles tiles;
  Reader q, k, v;
  /// Columns and rows of a tile of scores.
  int64_t queryCols, keyRows;
  Value head;
};

/// A block of queries sees all keys.
class Forward : public Blocks {
public:
  Forward(HostBody &body, AttentionLoops &loops, unsigned results,
          int64_t vectors)
      : Blocks(body, loops, results, vectors) {
    int64_t bytes = loops.element.getIntOrFloatBitWidth() / 8;
    int64_t all = loops.keyBlocks() * queryCols * kBlock * bytes;
    keeps = all <= kKeptScores;
    plain = tiles.allocate(queryCols, shape.size);
    queries = tiles.allocate(shape.size, queryCols);
    keys = tiles.allocate(keyRows, shape.size);
    values = tiles.allocate(keyRows, shape.valueSize);
    scores =
        tiles.allocate(keyRows * (keeps ? loops.keyBlocks() : 1), queryCols);
    chains = tiles.allocate(keyRows, queryCols);
    out = tiles.allocate(queryCols, shape.valueSize);
    max = tiles.allocate(1, queryCols);
    sum = tiles.allocate(1, queryCols);
  }

  void emit(Value item) {
    int64_t blocks = loops.queryBlocks();
    head = quotient(item, blocks);
    firstQuery = l.mul(remainder(item, blocks), l.index(kBlock));
    tiles.fill(plain, 0);
    tiles.bring(q.body, q.node, queriesFrom(firstQuery), plain);
    tiles.transpose(plain, queries);
    findMax();
    Value all = loops.window.isWhole() ? Value() : anyMasked(max, firstQuery);
    if (loops.forward.getZeroMasked()) {
      replaceInRow(max, -std::numeric_limits<double>::infinity());
    }
    weigh(all);
    finish();
  }

private:
  /// The tile of scores of a block of keys.
  Tile scoresOf(Value firstKey) {
    Tile tile = scores;
    tile.rows = int64_t(llvm::alignTo(keyRows, 4));
    if (keeps) {
      Value offset = l.mul(firstKey, l.index(scores.cols));
      tile.pointer = body.address(scores.pointer, offset, loops.element);
    }
    return tile;
  }
  /// The products of a block, and what becomes of them; also their maximum.
  void computeScores(Value firstKey, bool maximum) {
    Tile tile = scoresOf(firstKey);
    OperandRows rows = keysFrom(firstKey);
    tiles.bring(k.body, k.node, rows, keys);
    emitScores(tile, keys, queries, shape.size);
    forScores(firstQuery, firstKey, rows.count,
              [&](Value key, int64_t col, Chunk &chunk) {
                Value x =
                    loops.emitScores(body, chunk, tiles.load(tile, key, col));
                tiles.store(tile, key, col, x);
                if (maximum) {
                  Value old = tiles.load(max, l.index(0), col);
                  tiles.store(max, l.index(0), col, l.max(old, x));
                }
              });
  }
  Value sees(Value firstKey, Value all) {
    Value seen = loops.sees(l, firstQuery, firstKey);
    return seen ? either(seen, all) : seen;
  }
  /// Finds the maximum of each query; once more over all keys if those that the
  /// mask leaves by its structure turn out to be masked by data.
  void findMax() {
    tiles.fill(max, -std::numeric_limits<double>::infinity());
    auto pass = [&](Value all) {
      forBlocks(
          l.index(0), l.index(loops.keyBlocks()),
          [&](Value firstKey) { return sees(firstKey, all); },
          [&](Value firstKey) { computeScores(firstKey, true); });
    };
    if (loops.window.isWhole()) {
      pass({});
      return;
    }
    body.loop(l.index(0), l.index(2), 1, {}, [&](Value turn, ValueRange) {
      body.when(anyMasked(max, firstQuery), [&] {
        pass(l.compare(arith::CmpIPredicate::ne, turn, l.index(0)));
      });
      return SmallVector<Value>();
    });
  }
  /// Puts 0 where a number a query is `number`.
  void replaceInRow(const Tile &rows, double number) {
    for (int64_t col = 0; col < queryCols; col += kLanes) {
      Value value = tiles.load(rows, l.index(0), col);
      tiles.store(rows, l.index(0), col,
                  AttentionLoops::zeroIfEqual(l, value, number, value));
    }
  }
  /// Weighs the values of the keys by exponentials, and adds these up.
  void weigh(Value all) {
    tiles.fill(out, 0);
    tiles.fill(sum, 0);
    int64_t blocks = loops.keyBlocks();
    int64_t together = nn::kRowSegment / kBlock;
    body.loop(l.index(0), l.index(blocks), together, {},
              [&](Value lo, ValueRange) {
                tiles.fill(chains, 0);
                Value hi = l.min(l.add(lo, l.index(together)), l.index(blocks));
                forBlocks(
                    lo, hi, [&](Value firstKey) { return sees(firstKey, all); },
                    [&](Value firstKey) { weighBlock(firstKey); });
                foldChains();
                return SmallVector<Value>();
              });
  }
  void weighBlock(Value firstKey) {
    if (!keeps) {
      computeScores(firstKey, false);
    }
    Tile tile = scoresOf(firstKey);
    OperandRows rows = keysFrom(firstKey);
    body.loop(l.index(0), rows.count, 1, {}, [&](Value key, ValueRange) {
      for (int64_t col = 0; col < queryCols; col += kLanes) {
        Value shifted =
            l.sub(tiles.load(tile, key, col), tiles.load(max, l.index(0), col));
        Value e = emitFloatUnary(l, nn::UnaryKind::exp, shifted);
        tiles.store(tile, key, col, e);
        tiles.store(chains, key, col, l.add(tiles.load(chains, key, col), e));
      }
      return SmallVector<Value>();
    });
    tiles.bring(v.body, v.node, rows, values);
    tiles.multiply(out, LeftFactor::transposed(tile), values, rows.count);
  }
  /// Adds the chains of a segment to the sum, as the lanes of a row are.
  void foldChains() {
    for (int64_t col = 0; col < queryCols; col += kLanes) {
      Value all = AttentionLoops::foldChains(l, [&](int64_t chain) {
        return chain < keyRows ? tiles.load(chains, l.index(chain), col)
                               : l.zero(l.vectorOf(loops.element));
      });
      tiles.store(sum, l.index(0), col,
                  l.add(tiles.load(sum, l.index(0), col), all));
    }
  }
  void finish() {
    Value start = l.add(l.mul(head, l.index(shape.queries)), firstQuery);
    bool zeroMasked = loops.forward.getZeroMasked();
    for (int64_t col = 0; col < queryCols; col += kLanes) {
      Value total = tiles.load(sum, l.index(0), col);
      Value inverse = emitFloatUnary(l, nn::UnaryKind::reciprocal, total);
      if (zeroMasked) {
        inverse = AttentionLoops::zeroIfEqual(l, total, 0, inverse);
      }
      tiles.store(sum, l.index(0), col, inverse);
      Value place = l.add(start, l.index(col));
      Value mask = maskOf(l.add(firstQuery, l.index(col)));
      body.store(body.resultPointer(1), place, tiles.load(max, l.index(0), col),
                 mask);
      body.store(body.resultPointer(2), place, inverse, mask);
    }
    storeRows(0, out, queriesFrom(firstQuery), shape.valueSize,
              [&](Value row, Value value) {
                Value inverse = body.load(sum.pointer, row, loops.element,
                                          /*asVector=*/false, {});
                return l.mul(value, l.splat(inverse));
              });
  }

  bool keeps;
  Tile plain, queries, keys, values, scores, chains, out, max, sum;
  Value firstQuery;
};

/// First the gradient of queries, a block of them by all keys; then that of
/// keys and values, a block of them by all queries.
class Backward : public Blocks {
public:
  Backward(HostBody &body, AttentionLoops &loops, unsigned results,
           int64_t vectors)
      : Blocks(body, loops, results, vectors), dout(body, loops.dout, results),
        max(body, loops.max, results), inverse(body, loops.inverse, results),
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
    auto bring = [&](Reader &reader, const Tile &tile) {
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
      tiles.store(scores, row, col, p);
      Value above = l.sub(tiles.load(gradients, row, col),
                          tiles.load(deltas, l.index(0), col));
      tiles.store(gradients, row, col,
                  loops.emitGradient(body, chunk, l.mul(p, above)));
    });
  }

  Reader dout, max, inverse, delta;
  Tile plainQueries, queries, plainDout, douts, keys, values, scores, gradients;
  Tile ofFirst, ofValues, maxima, inverses, deltas;
};

template <typename Kernel>
void emitItems(HostBody &body, AttentionLoops &loops, unsigned results,
               int64_t vectors) {
  Kernel kernel(body, loops, results, vectors);
  body.loop(body.begin, body.end, 1, {}, [&](Value item, ValueRange) {
    kernel.emit(item);
    return SmallVector<Value>();
  });
}

} // namespace

FailureOr<WorkRange> host::emitAttention(ImplicitLocOpBuilder &b,
                                         nn::KernelOp kernel, StringRef name,
                                         const HostTarget &target) {
  AttentionLoops loops;
  if (failed(loops.find(kernel))) {
    return failure();
  }
  HostBody body(b, kernel, *loops.scores, name);
  body.enterKernel();
  int64_t bits =
      StringRef(target.features).contains("+avx512f") ? 32 * 512 : 16 * 256;
  int64_t vectors = bits / (kLanes * loops.element.getIntOrFloatBitWidth());
  unsigned results = kernel.getNumResults();
  loops.isGradient() ? emitItems<Backward>(body, loops, results, vectors)
                     : emitItems<Forward>(body, loops, results, vectors);
  body.finish();
  return WorkRange{loops.items(), 1};
}
