//===- TensorAttention.cpp - attention on tensor cores --------------------===//

#include "codegen/cuda/forms/TensorAttention.h"

#include "codegen/cuda/forms/FastMath.h"
#include "codegen/cuda/forms/Together.h"
#include "codegen/cuda/forms/Vectors.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

/// Returns whether each piece of a row of a leaf is in a buffer, at a multiple
/// of its bytes.
bool canCopy(const Node &node) {
  return node.kind == Node::Kind::Load && node.level == Level::Column &&
         node.access.isContiguous() && !node.access.inner.front().isBounded() &&
         llvm::none_of(node.access.outer,
                       [](const ViewDim &dim) { return dim.isBounded(); }) &&
         !node.view.indirection && isa<BlockArgument>(node.view.base) &&
         alignedElements(node, TensorAttention::kPiece) ==
             TensorAttention::kPiece;
}

/// Returns which of a thread's numbers is the `place`-th of its row 0 or 1.
int64_t numberOf(int64_t place, int64_t row) {
  return place / 2 * TensorCores::kSums + 2 * row + place % 2;
}

} // namespace

Type TensorAttention::elementOf(AttentionLoops &loops) {
  return loops.element.isF32() ? loops.storedElement() : Type();
}

int64_t TensorAttention::sharersOf(const AttentionLoops &loops) {
  int64_t ofKeys = partsOf(loops.shape.size);
  int64_t ofValues = partsOf(loops.shape.valueSize);
  if (!loops.isGradient()) {
    return ofValues;
  }
  return isWide(loops) ? ofKeys + ofValues : 1;
}

int64_t TensorAttention::repeatedBy(const AttentionLoops &loops) {
  int64_t size = loops.shape.size, valueSize = loops.shape.valueSize;
  int64_t ofKeys = partsOf(size), ofValues = partsOf(valueSize), repeated = 0;
  if (!loops.isGradient()) {
    repeated = (ofValues - 1) * size;
  } else if (isWide(loops)) {
    // Blocks of queries and of keys each make scores and their gradients, and
    // those of values make scores.
    repeated = 2 * (ofKeys - 1) * (size + valueSize) + ofValues * size;
  }
  return loops.seenScores() * repeated;
}

TensorAttention::TensorAttention(CudaBody &body, AttentionLoops &loops,
                                 StringRef name)
    : body(body), l(body.lanes), loops(loops), name(name), shape(loops.shape),
      cores(body, elementOf(loops)) {
  int64_t size = padded(std::max(shape.size, shape.valueSize));
  bool isLarge = size > kBlock;
  turn = isWide(loops)                   ? kBlock / 4
         : isLarge || loops.isGradient() ? kBlock / 2
                                         : kBlock;
  // A gradient of large heads needs the room for rows.
  slots = isLarge && loops.isGradient() ? 1 : 2;
  int64_t pitch = pitchOf(size);
  columns = {body.declareShared((name + "_columns").str(), l.b.getI16Type(),
                                slots * 2 * turn * pitch),
             pitch};
}

TensorAttention::Turn TensorAttention::turnOf(Value number) {
  Turn result;
  result.first = l.mul(number, l.index(turn));
  result.slot = l.divide(number, slots).second;
  Value begin = l.mul(result.slot, l.index(2 * turn * columns.pitch));
  auto matrix = [&](int64_t operand) -> SharedMatrix {
    Value place = l.add(begin, l.index(operand * turn * columns.pitch));
    return {body.address(columns.pointer, place, l.b.getI16Type()),
            columns.pitch};
  };
  result.a = matrix(0);
  result.b = matrix(1);
  return result;
}

TensorAttention::Values TensorAttention::forTurns(
    Value lo, Value hi, ValueRange sums,
    llvm::function_ref<void(const Turn &)> bring,
    llvm::function_ref<Values(const Turn &, ValueRange)> add) {
  lo = l.mul(lo, l.index(kBlock / turn));
  hi = l.mul(hi, l.index(kBlock / turn));
  auto bringBelow = [&](Value number) {
    body.when(l.compare(arith::CmpIPredicate::slt, number, hi),
              [&] { bring(turnOf(number)); });
  };
  if (slots == 1) {
    return body.loop(lo, hi, 1, sums, [&](Value number, ValueRange carried) {
      body.syncBlock();
      Turn own = turnOf(number);
      bring(own);
      arrive();
      return add(own, carried);
    });
  }
  body.syncBlock();
  bringBelow(lo);
  return body.loop(lo, hi, 1, sums, [&](Value number, ValueRange carried) {
    arrive();
    bringBelow(l.add(number, l.index(1)));
    return add(turnOf(number), carried);
  });
}

void TensorAttention::bring(AttentionOperand &operand, const OperandRows &rows,
                            int64_t count, const SharedMatrix &matrix,
                            const Columns &part) {
  int64_t width = sharedWidth(*operand.graph, kPiece);
  OperandReader reader(body, operand, width);
  Body &from = reader.body;
  Node *node = operand.stored();
  int64_t cols = from.graph.getDomain().cols;
  int64_t pieces = part.count / kPiece;
  // Returns whether there is a column; null: all are.
  auto isInside = [&](Value col) {
    return padded(cols) == cols
               ? Value()
               : l.compare(arith::CmpIPredicate::slt, col, l.index(cols));
  };
  bool copies = width == kPiece && canCopy(*node);
  auto bringPiece = [&](Value number) {
    auto [row, piece] = l.divide(number, pieces);
    Value own = l.min(row, l.sub(rows.count, l.index(1)));
    from.enterRow(l.add(rows.first, l.mul(own, l.index(rows.step))));
    from.prepare(node);
    Value col = l.mul(piece, l.index(kPiece));
    Value place = l.add(l.mul(row, l.index(matrix.pitch)), col);
    col = part.first ? l.add(part.first, col) : col;
    if (copies) {
      Chunk chunk(l.min(col, l.index(cols - kPiece)), {});
      cores.copy(body.address(matrix.pointer, place, l.b.getI16Type()),
                 from.address(node, chunk), isInside(col));
      return;
    }
    Values values;
    for (int64_t i = 0; i < kPiece; i += width) {
      Value begin = l.add(col, l.index(i));
      Chunk chunk(l.min(begin, l.index(cols - width)), {});
      Value read = from.lanes.splat(from.vector(node, chunk));
      if (Value inside = isInside(begin)) {
        read = l.select(inside, read, from.lanes.zero(read.getType()));
      }
      llvm::append_range(values, elementsOf(l, read));
    }
    storeTogether(l, matrix.pointer, place, joined(l, values));
  };
  int64_t all = count * pieces;
  for (int64_t first = 0; first < all; first += kThreads) {
    Value number = l.add(threadOfBlock(l), l.index(first));
    if (first + kThreads <= all) {
      bringPiece(number);
    } else {
      body.when(l.compare(arith::CmpIPredicate::slt, number, l.index(all)),
                [&] { bringPiece(number); });
    }
  }
}

void TensorAttention::arrive() {
  cores.finishCopies();
  body.syncBlock();
}

TensorAttention::Rows
TensorAttention::bringRows(AttentionOperand &operand, const OperandRows &rows,
                           int64_t size, const SharedMatrix &by, bool stay) {
  Rows result;
  Value own = l.mul(cores.warp, l.index(TensorCores::kRows));
  int64_t all = padded(size);
  for (int64_t first = 0; first < all; first += kPart) {
    int64_t count = std::min(kPart, all - first);
    body.syncBlock();
    bring(operand, rows, kBlock, by, {l.index(first), count});
    arrive();
    if (stay && first + count == all) {
      result.shared = by;
      return result;
    }
    for (int64_t col = 0; col < count; col += TensorCores::kDepth) {
      result.fragments.push_back(cores.left(by, own, col));
    }
  }
  body.syncBlock();
  return result;
}

TensorAttention::Values TensorAttention::multiply(const Rows &rows,
                                                  const SharedMatrix &matrix,
                                                  int64_t size) {
  Values sums = zeros(turn);
  Value first = l.mul(cores.warp, l.index(TensorCores::kRows));
  for (int64_t depth = 0; depth < size; depth += TensorCores::kDepth) {
    size_t number = depth / TensorCores::kDepth, kept = rows.fragments.size();
    int64_t beyond = depth - int64_t(kept) * TensorCores::kDepth;
    Fragment left = number < kept ? rows.fragments[number]
                                  : cores.left(rows.shared, first, beyond);
    for (int64_t col = 0; col < turn; col += 2 * TensorCores::kCols) {
      cores.multiply(left, cores.rightByRows(matrix, col, depth),
                     MutableArrayRef(sums).slice(
                         col / TensorCores::kCols * kSums, 2 * kSums));
    }
  }
  return sums;
}

TensorAttention::Values TensorAttention::addProduct(ValueRange sums,
                                                    ArrayRef<Value> tile,
                                                    SharedMatrix matrix,
                                                    const Columns &cols) {
  if (cols.first) {
    matrix.pointer = body.address(matrix.pointer, cols.first, l.b.getI16Type());
  }
  Values result(sums);
  for (int64_t row = 0; row * kSums / TensorCores::kCols < int64_t(tile.size());
       row += TensorCores::kDepth) {
    Fragment left =
        cores.left(tile.slice(row / TensorCores::kCols * kSums, 2 * kSums));
    for (int64_t col = 0; col < cols.count; col += 2 * TensorCores::kCols) {
      cores.multiply(left, cores.rightByColumns(matrix, row, col),
                     MutableArrayRef(result).slice(
                         col / TensorCores::kCols * kSums, 2 * kSums));
    }
  }
  return result;
}

Value TensorAttention::rowOf(int64_t row) {
  Value first = l.mul(cores.warp, l.index(TensorCores::kRows));
  return l.add(l.add(first, cores.ownRow), l.index(8 * row));
}

Value TensorAttention::colOf(int64_t number) {
  return l.add(cores.ownCol,
               l.index(number / kSums * TensorCores::kCols + number % 2));
}

Value TensorAttention::isCol(Value first, int64_t number, int64_t count) {
  return count % kBlock == 0
             ? Value()
             : l.compare(arith::CmpIPredicate::slt, l.add(first, colOf(number)),
                         l.index(count));
}

void TensorAttention::forScores(
    Value query, Value key, bool rowsAreKeys,
    llvm::function_ref<void(int64_t, int64_t, Chunk &)> emit) {
  auto enterKey = [&](Value ofBlock) {
    Value number = l.min(l.add(key, ofBlock), l.index(shape.keys - 1));
    body.enterRow(l.add(l.mul(head, l.index(shape.keys)), number));
  };
  auto emitQuery = [&](int64_t number, int64_t row, Value ofBlock) {
    Chunk chunk(l.min(l.add(query, ofBlock), l.index(shape.queries - 1)), {});
    emit(number, row, chunk);
  };
  // A key is entered once.
  int64_t tiles = turn / TensorCores::kCols;
  for (int64_t row = 0; rowsAreKeys && row < 2; ++row) {
    enterKey(rowOf(row));
    for (int64_t i = 0; i < 2 * tiles; ++i) {
      int64_t number = numberOf(i, row);
      emitQuery(number, row, colOf(number));
    }
  }
  for (int64_t i = 0; !rowsAreKeys && i < 2 * tiles; ++i) {
    enterKey(colOf(numberOf(i, 0)));
    for (int64_t row = 0; row < 2; ++row) {
      emitQuery(numberOf(i, row), row, rowOf(row));
    }
  }
}

TensorAttention::Values TensorAttention::ofTile(
    Value query, Value key, bool rowsAreKeys, TypeRange types,
    llvm::function_ref<Values(llvm::function_ref<void(Chunk &)>)> emit) {
  Value whole = loops.leavesAll(l, query, key, rowsAreKeys ? turn : kBlock,
                                rowsAreKeys ? kBlock : turn);
  auto general = [&] { return emit([](Chunk &) {}); };
  if (!whole) {
    return general();
  }
  return body.either(
      whole, types,
      [&] { return emit([&](Chunk &chunk) { loops.assumeLeft(l, chunk); }); },
      general);
}

Value TensorAttention::ofQuery(AttentionOperand &operand, Value query) {
  OperandReader reader(body, operand, /*width=*/1);
  reader.body.enterRow(head);
  reader.body.prepare(reader.node);
  Chunk chunk(l.min(query, l.index(shape.queries - 1)), {});
  return reader.body.vector(reader.node, chunk);
}

// Each warp asks for itself, and all find the same.
Value TensorAttention::anyMasked(llvm::function_ref<Value(Value)> maximum) {
  auto [warp, lane] = l.divide(threadOfBlock(l), kWarp);
  Value found;
  for (int64_t first = 0; first < kBlock; first += kWarp) {
    Value masked = loops.isMasked(l, maximum(l.add(lane, l.index(first))));
    found = found ? l.logicalOr(found, masked) : masked;
  }
  Value all = body.ballot(found);
  return l.compare(arith::CmpIPredicate::ne, all, l.zero(all.getType()));
}

Value TensorAttention::acrossRow(
    Value own, llvm::function_ref<Value(Value, Value)> combine) {
  for (int32_t bit : {1, 2}) {
    own = combine(own, body.shuffleXor(own, bit));
  }
  return own;
}

Value TensorAttention::power(Value x, Value base) {
  Value exponent = l.mul(l.sub(x, base), number(1.4426950408889634));
  return fastMath().power(l, exponent);
}

void TensorAttention::storeRows(
    unsigned result, ArrayRef<Value> sums, const OperandRows &rows,
    int64_t size, llvm::function_ref<Value(int64_t, Value)> adjust,
    Value first) {
  int64_t together = size % 2 == 0 ? 2 : 1;
  StoredRows kept = loops.stored[result].rowsOf(l, rows, size);
  Value pointer = body.resultPointer(loops.stored[result].result);
  for (int64_t row = 0; row < 2; ++row) {
    Value own = rowOf(row);
    Value line = l.add(kept.first, l.mul(own, l.index(kept.apart)));
    Value isRow = l.compare(arith::CmpIPredicate::slt, own, rows.count);
    for (int64_t i = 0; i < int64_t(sums.size()) / 2; i += together) {
      Value col = colOf(numberOf(i, row));
      col = first ? l.add(first, col) : col;
      Value isCol = l.compare(arith::CmpIPredicate::slt, col, l.index(size));
      body.when(l.logicalAnd(isRow, isCol), [&] {
        Values stored;
        for (int64_t side = i; side < i + together; ++side) {
          Value value = adjust(row, sums[numberOf(side, row)]);
          stored.push_back(loops.stored[result].round(l, value));
        }
        storeTogether(l, pointer, l.add(line, col), joined(l, stored));
      });
    }
  }
}
