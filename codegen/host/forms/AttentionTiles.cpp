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

int64_t TileProducts::depthGrain() const {
  return bf16 == Bf16Products::amx ? 2 * MatrixRegisters::kSide : 2;
}

int64_t TileProducts::rowGrain() const {
  // Rows of one product are the depth of another.
  return std::max(kRows, depthGrain());
}

AttentionTiles::AttentionTiles(HostBody &body, Type element,
                               TileProducts products, int64_t largest)
    : body(body), l(body.lanes), element(element), products(products),
      largest(largest), registers(body), leftScratch(allocateScratch()),
      rightScratch(allocateScratch()) {}

Value AttentionTiles::allocateScratch() {
  return products.pairs() ? host::allocate(l, l.b.getI32Type(), largest / 2)
                          : Value();
}

void AttentionTiles::begin() {
  if (products.bf16 == Bf16Products::amx) {
    registers.configure();
  }
}

void AttentionTiles::finish() {
  if (products.bf16 == Bf16Products::amx) {
    registers.release();
  }
}

Tile AttentionTiles::allocate(int64_t rows, int64_t cols) {
  Tile tile;
  tile.rows = int64_t(llvm::alignTo(rows, products.rowGrain()));
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

Value AttentionTiles::roundUpToGrain(Value depth) {
  int64_t grain = products.depthGrain();
  Value above = l.add(depth, l.index(grain - 1));
  return l.b.create<arith::AndIOp>(above, l.index(-grain));
}

Tile AttentionTiles::pairInRows(const Tile &tile, Value depth, Value scratch) {
  PairsOfBf16 pairs(l);
  int64_t cols = llvm::alignTo(tile.cols, products.depthGrain());
  Tile paired = {scratch, tile.rows, cols / 2, /*paired=*/true};
  body.loop(l.index(0), roundUpToGrain(depth), kLanes, {},
            [&](Value col, ValueRange) {
              Value inside = l.maskBelow(l.sub(depth, col));
              Value pair = l.b.create<arith::ShRUIOp>(col, l.index(1));
              body.loop(
                  l.index(0), l.index(tile.rows), 1, {},
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

Value AttentionTiles::pairBelow(const Tile &tile, Value row, Value col,
                                Value depth) {
  auto load = [&](Value from) {
    Value offset = l.add(l.mul(from, l.index(tile.cols)), col);
    Value lanes =
        body.load(tile.pointer, offset, element, /*asVector=*/true, {});
    Value exists = l.compare(arith::CmpIPredicate::slt, from, depth);
    return l.select(exists, lanes, l.zero(lanes.getType()));
  };
  return PairsOfBf16(l).join(load(row), load(l.add(row, l.index(1))));
}

Tile AttentionTiles::pairOfRows(const Tile &tile, Value depth, Value scratch) {
  body.loop(l.index(0), roundUpToGrain(depth), 2, {},
            [&](Value row, ValueRange) {
              Value pair = l.b.create<arith::ShRUIOp>(row, l.index(1));
              Value start = l.mul(pair, l.index(tile.cols));
              body.loop(l.index(0), l.index(tile.cols), kLanes, {},
                        [&](Value col, ValueRange) {
                          body.store(scratch, l.add(start, col),
                                     pairBelow(tile, row, col, depth), {});
                          return SmallVector<Value>();
                        });
              return SmallVector<Value>();
            });
  return {scratch, tile.rows / 2, tile.cols, /*paired=*/true};
}

Tile AttentionTiles::pairTransposed(const Tile &tile, Value depth,
                                    Value scratch) {
  Tile paired = {scratch, tile.cols, tile.rows / 2, /*paired=*/true};
  body.loop(l.index(0), roundUpToGrain(depth), 2 * kLanes, {},
            [&](Value row, ValueRange) {
              Value pair = l.b.create<arith::ShRUIOp>(row, l.index(1));
              body.loop(l.index(0), l.index(tile.cols), kLanes, {},
                        [&](Value col, ValueRange) {
                          pairTransposedBlock(tile, row, col, depth, paired,
                                              pair);
                          return SmallVector<Value>();
                        });
              return SmallVector<Value>();
            });
  return paired;
}

void AttentionTiles::pairTransposedBlock(const Tile &tile, Value row, Value col,
                                         Value depth, const Tile &paired,
                                         Value pair) {
  SmallVector<Value> lines;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    lines.push_back(pairBelow(tile, l.add(row, l.index(2 * lane)), col, depth));
  }
  l.transpose(lines);
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    Value line = l.mul(l.add(col, l.index(lane)), l.index(paired.cols));
    body.store(paired.pointer, l.add(line, pair), lines[lane], {});
  }
}

LeftFactor AttentionTiles::prepare(const LeftFactor &left, Value depth,
                                   Value scratch) {
  if (!products.pairs() || left.tile.paired) {
    return left;
  }
  if (!left.transposed) {
    return LeftFactor::plain(pairInRows(left.tile, depth, scratch));
  }
  return products.bf16 == Bf16Products::amx
             ? LeftFactor::plain(pairTransposed(left.tile, depth, scratch))
             : LeftFactor::transpose(pairOfRows(left.tile, depth, scratch));
}

Tile AttentionTiles::prepareRight(const Tile &tile, Value depth,
                                  Value scratch) {
  return products.pairs() && !tile.paired ? pairOfRows(tile, depth, scratch)
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
  Type factor = products.pairs() ? l.b.getI32Type() : element;
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
            next.push_back(products.pairs() ? pairs.addDot(sum, left, right[u])
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

void AttentionTiles::multiplyRegisters(const Tile &c, const Tile &a,
                                       const Tile &b, Value depth, Value row,
                                       Value col, int64_t rows, int64_t cols) {
  constexpr int64_t kSide = MatrixRegisters::kSide;
  // Those of c come first, row by row, then those of a, and of b.
  int64_t firstOfA = rows * cols, firstOfB = firstOfA + rows;
  auto address = [&](const Tile &tile, Value tileRow, Value tileCol) {
    Value offset = l.add(l.mul(tileRow, l.index(tile.cols)), tileCol);
    return body.address(tile.pointer, offset, l.b.getI32Type());
  };
  auto after = [&](Value first, int64_t number) {
    return l.add(first, l.index(number * kSide));
  };
  auto forSums = [&](llvm::function_ref<void(int64_t, Value)> emit) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t u = 0; u < cols; ++u) {
        emit(r * cols + u, address(c, after(row, r), after(col, u)));
      }
    }
  };
  forSums(
      [&](int64_t sums, Value at) { registers.load(sums, at, 4 * c.cols); });
  body.loop(l.index(0), depth, kSide, {}, [&](Value pair, ValueRange) {
    for (int64_t r = 0; r < rows; ++r) {
      registers.load(firstOfA + r, address(a, after(row, r), pair), 4 * a.cols);
    }
    for (int64_t u = 0; u < cols; ++u) {
      registers.load(firstOfB + u, address(b, pair, after(col, u)), 4 * b.cols);
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t u = 0; u < cols; ++u) {
        registers.addProduct(r * cols + u, firstOfA + r, firstOfB + u);
      }
    }
    return SmallVector<Value>();
  });
  forSums(
      [&](int64_t sums, Value at) { registers.store(sums, at, 4 * c.cols); });
}

void AttentionTiles::multiplyByAmx(const Tile &c, const Tile &a, const Tile &b,
                                   Value depth) {
  constexpr int64_t kSide = MatrixRegisters::kSide;
  // Emits pairs of registers, and where their number is odd the last alone.
  auto forPairs = [&](int64_t extent,
                      llvm::function_ref<void(Value, int64_t)> emit) {
    int64_t whole = extent / (2 * kSide) * (2 * kSide);
    body.loop(l.index(0), l.index(whole), 2 * kSide, {},
              [&](Value first, ValueRange) {
                emit(first, 2);
                return SmallVector<Value>();
              });
    if (whole < extent) {
      emit(l.index(whole), 1);
    }
  };
  forPairs(c.rows, [&](Value row, int64_t rows) {
    forPairs(c.cols, [&](Value col, int64_t cols) {
      multiplyRegisters(c, a, b, depth, row, col, rows, cols);
    });
  });
}

void AttentionTiles::multiply(const Tile &c, const LeftFactor &left,
                              const Tile &right, Value depth) {
  LeftFactor a = prepare(left, depth, leftScratch);
  Tile b = prepareRight(right, depth, rightScratch);
  if (products.pairs()) {
    depth = l.b.create<arith::ShRUIOp>(roundUpToGrain(depth), l.index(1));
  }
  if (products.bf16 == Bf16Products::amx) {
    multiplyByAmx(c, a.tile, b, depth);
    return;
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
