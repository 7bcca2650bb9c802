//===- Attention.cpp - attention by blocks of queries ---------------------===//

#include "codegen/emit/Math.h"
#include "codegen/host/forms/AttentionKernel.h"
#include "codegen/host/forms/Forms.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

/// Limits the bytes of scores that a block of queries keeps; those of more keys
/// are computed again once their maximum is known.
constexpr int64_t kKeptScores = 256 << 10;

/// Computes a block of queries, which sees all keys.
class Forward final : public AttentionKernel {
public:
  Forward(HostBody &body, AttentionLoops &loops, TileProducts products)
      : AttentionKernel(body, loops, products) {
    int64_t bytes = loops.element.getIntOrFloatBitWidth() / 8;
    int64_t all = loops.keyBlocks() * queryCols * kBlock * bytes;
    keeps = all <= kKeptScores;
    plain = tiles.allocate(queryCols, shape.size);
    queries = tiles.allocate(shape.size, queryCols);
    queryScratch = tiles.allocateScratch();
    keys = tiles.allocate(keyRows, shape.size);
    values = tiles.allocate(keyRows, shape.valueSize);
    scores =
        tiles.allocate(keyRows * (keeps ? loops.keyBlocks() : 1), queryCols);
    chains = tiles.allocate(keyRows, queryCols);
    out = tiles.allocate(queryCols, shape.valueSize);
    max = tiles.allocate(1, queryCols);
    sum = tiles.allocate(1, queryCols);
  }

private:
  void emitItems() override {
    body.loop(body.begin, body.end, 1, {}, [&](Value item, ValueRange) {
      emitItem(item);
      return SmallVector<Value>();
    });
  }
  void emitItem(Value item) {
    std::tie(head, firstQuery) = loops.placeOf(l, item, loops.queryBlocks());
    tiles.fill(plain, 0);
    tiles.bring(q.body, q.node, queriesFrom(firstQuery), plain);
    tiles.transpose(plain, queries);
    rightQueries =
        tiles.prepareRight(queries, l.index(shape.size), queryScratch);
    findMax();
    Value all = loops.window.isWhole() ? Value() : anyMasked(max, firstQuery);
    if (loops.forward.getZeroMasked()) {
      replaceInRow(max, -std::numeric_limits<double>::infinity());
    }
    weigh(all);
    finish();
  }
  /// Returns the tile that has the scores of a block of keys.
  Tile scoresOf(Value firstKey) {
    Tile tile = scores;
    tile.rows = chains.rows;
    if (keeps) {
      Value offset = l.mul(firstKey, l.index(scores.cols));
      tile.pointer = body.address(scores.pointer, offset, loops.element);
    }
    return tile;
  }
  /// Computes the scores of a block of keys and, if asked to, their maximum.
  void computeScores(Value firstKey, bool maximum) {
    Tile tile = scoresOf(firstKey);
    OperandRows rows = keysFrom(firstKey);
    tiles.bring(k.body, k.node, rows, keys);
    emitScores(tile, LeftFactor::plain(keys), rightQueries, shape.size);
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
    return loops.sees(l, firstQuery, firstKey, [&] { return all; });
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
  /// Puts 0 in place of `number` in a tile of one row.
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
    forScores(firstQuery, firstKey, rows.count,
              [&](Value key, int64_t col, Chunk &chunk) {
                Value shifted = l.sub(tiles.load(tile, key, col),
                                      tiles.load(max, l.index(0), col));
                Value e = emitFloatUnary(l, nn::UnaryKind::exp, shifted);
                tiles.store(chains, key, col,
                            l.add(tiles.load(chains, key, col), e));
                tiles.store(tile, key, col, loops.emitWeighed(body, chunk, e));
              });
    tiles.bring(v.body, v.node, rows, values);
    tiles.multiply(out, LeftFactor::transpose(tile), values, rows.count);
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
  /// Holds the queries as a factor, in scratch of its own.
  Tile rightQueries;
  Value queryScratch;
  Value firstQuery;
};

/// Returns bf16 if factors of products are rounded to it: what is read has that
/// type, and a library multiplies it so elsewhere in the plan. Else null.
Type multipliedType(const AttentionLoops &loops, const HostTarget &target) {
  Type stored = loops.storedElement();
  return target.bf16 != Bf16Products::none && stored && stored.isBF16()
             ? stored
             : Type();
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
  TileProducts products;
  products.vectors = bits / (kLanes * loops.element.getIntOrFloatBitWidth());
  Type multiplied = multipliedType(loops, target);
  if (multiplied) {
    products.bf16 = target.bf16;
  }
  if (loops.isGradient()) {
    emitAttentionGradient(body, loops, products);
  } else {
    Forward(body, loops, products).run();
  }
  body.finish();
  return WorkRange{loops.items(), 1, multiplied};
}
