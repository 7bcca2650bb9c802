//===- AttentionTiles.cpp - matrices that fit in a cache ------------------===//

#include "codegen/host/forms/AttentionTiles.h"

#include "codegen/host/forms/PairsOfBf16.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

/// Counts the rows of a product whose sums are in registers together.
constexpr int64_t kRows = 4;

} // namespace

AttentionTiles::AttentionTiles(HostBody &body, Type element,
                               TileProducts products, int64_t largest)
    : body(body), l(body.lanes), element(element), products(products),
      largest(largest), leftScratch(allocateScratch()),
      rightScratch(allocateScratch()) {}

Value AttentionTiles::allocateScratch() {
  return products.pairs ? host::allocate(l, l.b.getI32Type(), largest / 2)
                        : Value();
}

Tile AttentionTiles::allocate(int64_t rows, int64_t cols) {
  Tile tile;
  tile.rows = int64_t(llvm::alignTo(rows, kRows));
  tile.cols = int64_t(llvm::alignTo(cols, kLanes));
  tile.pointer = host::allocate(l, element, tile.rows * tile.cols);
  return tile;
}

Value AttentionTiles::load(const Tile &tile, Value row, int64_t col) {
  Value offset = l.add(l.mul(row, l.index(tile.cols)), l.index(col));
  return body.load(tile.pointer, offset, element, /*asVector=*/true, {});
}

void AttentionTiles::store(const Tile &tile, Value row, int64_t col,
                           Value value) {
  Value offset = l.add(l.mul(row, l.index(tile.cols)), l.index(col));
  body.store(tile.pointer, offset, value, {});
}

void AttentionTiles::fill(const Tile &tile, double number) {
  Value value = l.real(l.vectorOf(element), number);
  body.loop(l.index(0), l.index(tile.rows * tile.cols), kLanes, {},
            [&](Value offset, ValueRange) {
              body.store(tile.pointer, offset, value, {});
              return SmallVector<Value>();
            });
}

void AttentionTiles::add(const Tile &to, const Tile &from) {
  body.loop(l.index(0), l.index(to.rows * to.cols), kLanes, {},
            [&](Value offset, ValueRange) {
              auto load = [&](const Tile &tile) {
                return body.load(tile.pointer, offset, element,
                                 /*asVector=*/true, {});
              };
              body.store(to.pointer, offset, l.add(load(to), load(from)), {});
              return SmallVector<Value>();
            });
}

void AttentionTiles::bring(Body &operand, Node *node, const OperandRows &rows,
                           const Tile &tile) {
  int64_t cols = operand.graph.getDomain().cols;
  body.loop(l.index(0), rows.count, 1, {}, [&](Value row, ValueRange) {
    operand.enterRow(l.add(rows.first, l.mul(row, l.index(rows.step))));
    operand.prepare(node);
    for (int64_t col = 0; col < cols; col += kLanes) {
      int64_t rest = cols - col;
      Chunk chunk(l.index(col), rest < kLanes ? l.maskBelow(rest) : Value());
      store(tile, row, col, l.splat(operand.vector(node, chunk)));
    }
    return SmallVector<Value>();
  });
}

void AttentionTiles::transpose(const Tile &from, const Tile &to) {
  auto place = [&](const Tile &tile, Value row, int64_t more, Value col) {
    Value moreRow = l.add(row, l.index(more));
    return l.add(l.mul(moreRow, l.index(tile.cols)), col);
  };
  auto block = [&](Value row, int64_t rows, Value col) {
    SmallVector<Value> lines;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lines.push_back(body.load(from.pointer, place(from, col, lane, row),
                                element, /*asVector=*/true, {}));
    }
    l.transpose(lines);
    for (int64_t lane = 0; lane < rows; ++lane) {
      body.store(to.pointer, place(to, row, lane, col), lines[lane], {});
    }
  };
  body.loop(l.index(0), l.index(to.cols), kLanes, {},
            [&](Value col, ValueRange) {
              int64_t rest = to.rows % kLanes, whole = to.rows - rest;
              body.loop(l.index(0), l.index(whole), kLanes, {},
                        [&](Value row, ValueRange) {
                          block(row, kLanes, col);
                          return SmallVector<Value>();
                        });
              if (rest != 0) {
                block(l.index(whole), rest, col);
              }
              return SmallVector<Value>();
            });
}

Tile AttentionTiles::pairInRows(const Tile &tile, Value depth, Value scratch) {
  PairsOfBf16 pairs(l);
  Tile paired = {scratch, tile.rows, tile.cols / 2, /*paired=*/true};
  body.loop(l.index(0), depth, kLanes, {}, [&](Value col, ValueRange) {
    Value inside = l.maskBelow(l.sub(depth, col));
    Value pair = l.b.create<arith::ShRUIOp>(col, l.index(1));
    body.loop(l.index(0), l.index(tile.rows), 1, {},
              [&](Value row, ValueRange) {
                Value from = l.add(l.mul(row, l.index(tile.cols)), col);
                Value to = l.add(l.mul(row, l.index(paired.cols)), pair);
                pairs.storeRow(body.address(scratch, to, l.b.getI32Type()),
                               body.load(tile.pointer, from, element,
                                         /*asVector=*/true, inside));
                return SmallVector<Value>();
              });
    return SmallVector<Value>();
  });
  return paired;
}

Tile AttentionTiles::pairOfRows(const Tile &tile, Value depth, Value scratch) {
  PairsOfBf16 pairs(l);
  body.loop(l.index(0), depth, 2, {}, [&](Value row, ValueRange) {
    Value second = l.add(row, l.index(1));
    Value exists = l.compare(arith::CmpIPredicate::slt, second, depth);
    Value pair = l.b.create<arith::ShRUIOp>(row, l.index(1));
    body.loop(l.index(0), l.index(tile.cols), kLanes, {},
              [&](Value col, ValueRange) {
                auto place = [&](Value of) {
                  return l.add(l.mul(of, l.index(tile.cols)), col);
                };
                auto load = [&](Value from) {
                  return body.load(tile.pointer, place(from), element,
                                   /*asVector=*/true, {});
                };
                Value lower = load(row), upper = load(second);
                upper = l.select(exists, upper, l.zero(upper.getType()));
                body.store(scratch, place(pair), pairs.join(lower, upper), {});
                return SmallVector<Value>();
              });
    return SmallVector<Value>();
  });
  return {scratch, tile.rows / 2, tile.cols, /*paired=*/true};
}

LeftFactor AttentionTiles::prepare(const LeftFactor &left, Value depth,
                                   Value scratch) {
  if (!products.pairs || left.tile.paired) {
    return left;
  }
  return {left.transposed ? pairOfRows(left.tile, depth, scratch)
                          : pairInRows(left.tile, depth, scratch),
          left.transposed};
}

Tile AttentionTiles::prepareRight(const Tile &tile, Value depth,
                                  Value scratch) {
  return products.pairs && !tile.paired ? pairOfRows(tile, depth, scratch)
                                        : tile;
}

void AttentionTiles::multiplyBlock(const Tile &c, const LeftFactor &a,
                                   const Tile &b, Value depth, Value row,
                                   Value col, int64_t count) {
  auto place = [&](const Tile &tile, Value tileRow, int64_t number) {
    return l.add(l.add(l.mul(tileRow, l.index(tile.cols)), col),
                 l.index(number * kLanes));
  };
  PairsOfBf16 pairs(l);
  Type factor = products.pairs ? l.b.getI32Type() : element;
  SmallVector<Value> sums;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t u = 0; u < count; ++u) {
      sums.push_back(body.load(c.pointer, place(c, l.add(row, l.index(r)), u),
                               element,
                               /*asVector=*/true, {}));
    }
  }
  sums =
      body.loop(l.index(0), depth, 1, sums, [&](Value k, ValueRange carried) {
        SmallVector<Value> right, next;
        for (int64_t u = 0; u < count; ++u) {
          right.push_back(body.load(b.pointer, place(b, k, u), factor,
                                    /*asVector=*/true, {}));
        }
        for (int64_t r = 0; r < kRows; ++r) {
          Value offset = l.add(l.mul(l.add(row, l.index(r)), l.index(a.row())),
                               l.mul(k, l.index(a.depth())));
          Value left = l.splat(body.load(a.tile.pointer, offset, factor,
                                         /*asVector=*/false, {}));
          for (int64_t u = 0; u < count; ++u) {
            Value sum = carried[next.size()];
            next.push_back(products.pairs ? pairs.addDot(sum, left, right[u])
                                          : l.fma(left, right[u], sum));
          }
        }
        return next;
      });
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t u = 0; u < count; ++u) {
      body.store(c.pointer, place(c, l.add(row, l.index(r)), u),
                 sums[r * count + u], {});
    }
  }
}

void AttentionTiles::multiply(const Tile &c, const LeftFactor &left,
                              const Tile &right, Value depth) {
  LeftFactor a = prepare(left, depth, leftScratch);
  Tile b = prepareRight(right, depth, rightScratch);
  if (products.pairs) {
    depth = l.b.create<arith::ShRUIOp>(l.add(depth, l.index(1)), l.index(1));
  }
  // Sums, the right factor's vectors, and one number of the left.
  int64_t most = std::max<int64_t>(1, (products.vectors - 1) / (kRows + 1));
  int64_t all = c.cols / kLanes, count = std::min(all, most);
  while (all % count != 0) {
    --count;
  }
  body.loop(l.index(0), l.index(c.rows), kRows, {}, [&](Value row, ValueRange) {
    body.loop(l.index(0), l.index(c.cols), count * kLanes, {},
              [&](Value col, ValueRange) {
                multiplyBlock(c, a, b, depth, row, col, count);
                return SmallVector<Value>();
              });
    return SmallVector<Value>();
  });
}
