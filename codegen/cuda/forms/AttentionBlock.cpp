//===- AttentionBlock.cpp - products of the threads of a block ------------===//

#include "codegen/cuda/forms/AttentionBlock.h"

#include "codegen/cuda/forms/Vectors.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

/// Returns how many neighbouring elements of an operand a thread reads at once.
static int64_t widthOf(AttentionOperand &operand) {
  int64_t width = vectorWidth(*operand.graph, {}, AttentionBlock::kOwn);
  return width < AttentionBlock::kOwn ? 1 : AttentionBlock::kOwn;
}

OperandReader::OperandReader(CudaBody &parent, AttentionOperand &operand)
    : operand(operand),
      body(parent.lanes.b, *operand.graph,
           SmallVector<Value>(parent.bufferPointers()), /*resultCount=*/0,
           widthOf(operand), kAccessBytes, parent.lanes.indexType.getWidth()) {
  body.enterKernel();
}

AttentionBlock::AttentionBlock(CudaBody &body, AttentionLoops &loops,
                               StringRef name)
    : body(body), l(body.lanes), loops(loops) {
  auto [row, col] = divide(l, threadOfBlock(l), kAcross);
  ownRow = l.mul(row, l.index(kOwn));
  ownCol = l.mul(col, l.index(kOwn));
  auto declare = [&](StringRef what, int64_t count) {
    return body.declareShared((name + "_" + what).str(), loops.element, count);
  };
  tile = declare("tile", kTile * kPitch);
  maxima = declare("maxima", kTile);
  sums = declare("sums", kTile);
  deltas = declare("deltas", kTile);
  leftPart = declare("left", kDepth * kPitch);
  rightPart = declare("right", kDepth * kPitch);
}

Sums AttentionBlock::zeros(int64_t tiles) {
  return Sums(tiles * kOwn * kOwn, l.zero(loops.element));
}

Sums AttentionBlock::load(Value pointer, Value offset, int64_t count) {
  Type element = loops.element;
  Type type = count == 1 ? element : VectorType::get({count}, element);
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  Value loaded =
      l.b.create<LLVM::LoadOp>(type, body.address(pointer, offset, element),
                               unsigned(std::min(count * bytes, kAccessBytes)));
  if (count == 1) {
    return {loaded};
  }
  Sums values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(l.b.create<vector::ExtractOp>(loaded, i));
  }
  return values;
}

void AttentionBlock::store(Value pointer, Value offset,
                           ArrayRef<Value> values) {
  Type element = values[0].getType();
  Value stored = values[0];
  int64_t count = int64_t(values.size());
  if (count > 1) {
    stored = l.b.create<vector::BroadcastOp>(VectorType::get({count}, element),
                                             stored);
    for (int64_t i = 1; i < count; ++i) {
      stored = l.b.create<vector::InsertOp>(values[i], stored, i);
    }
  }
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  l.b.create<LLVM::StoreOp>(stored, body.address(pointer, offset, element),
                            unsigned(std::min(count * bytes, kAccessBytes)));
}

/// kOwn elements of a row from `col` on; where there are none, some others of
/// the operand.
Sums AttentionBlock::read(OperandReader &reader, const OperandRows &rows,
                          Value row, Value col) {
  int64_t cols = reader.body.graph.getDomain().cols;
  int64_t width = reader.body.lanes.width;
  Value own = l.min(row, l.sub(rows.count, l.index(1)));
  reader.body.enterRow(l.add(rows.first, l.mul(own, l.index(rows.step))));
  reader.body.prepare(reader.operand.node);
  Sums values;
  for (int64_t i = 0; i < kOwn; i += width) {
    Value place = l.min(l.add(col, l.index(i)), l.index(cols - width));
    Chunk chunk(place, {});
    Value value =
        reader.body.lanes.splat(reader.body.vector(reader.operand.node, chunk));
    if (width == 1) {
      values.push_back(value);
      continue;
    }
    for (int64_t lane = 0; lane < width; ++lane) {
      values.push_back(l.b.create<vector::ExtractOp>(value, lane));
    }
  }
  return values;
}

void AttentionBlock::bringRows(OperandReader &reader, const OperandRows &rows,
                               Value col, Value shared) {
  auto [row, part] = divide(l, threadOfBlock(l), kDepth / kOwn);
  Value depth = l.mul(part, l.index(kOwn));
  Sums values = read(reader, rows, row, l.add(col, depth));
  for (auto [i, value] : llvm::enumerate(values)) {
    Value line = l.add(depth, l.index(int64_t(i)));
    store(shared, l.add(l.mul(line, l.index(kPitch)), row), value);
  }
}

void AttentionBlock::bringDepth(OperandReader &reader, const OperandRows &rows,
                                Value firstRow, int64_t col, Value shared) {
  auto [row, part] = divide(l, threadOfBlock(l), kAcross);
  Value across = l.mul(part, l.index(kOwn));
  Sums values =
      read(reader, rows, l.add(firstRow, row), l.add(across, l.index(col)));
  store(shared, l.add(l.mul(row, l.index(kPitch)), across), values);
}

/// Adds `depth` numbers of a shared left part, from one of its rows on, times
/// the right part.
Sums AttentionBlock::multiply(Value left, Value leftRow, Value depth,
                              ValueRange sums) {
  auto one = [&](Value k, ValueRange carried) {
    Value leftLine = l.mul(l.add(leftRow, k), l.index(kPitch));
    Sums a = load(left, l.add(leftLine, ownRow));
    Sums b = load(rightPart, l.add(l.mul(k, l.index(kPitch)), ownCol));
    SmallVector<Value> next;
    for (Value x : a) {
      for (Value y : b) {
        next.push_back(l.fma(x, y, carried[next.size()]));
      }
    }
    return next;
  };
  constexpr int64_t kUnrolled = 4;
  Value whole = l.mul(l.b.create<arith::DivUIOp>(depth, l.index(kUnrolled)),
                      l.index(kUnrolled));
  SmallVector<Value> next = body.loop(
      l.index(0), whole, kUnrolled, sums, [&](Value k, ValueRange carried) {
        SmallVector<Value> inner(carried);
        for (int64_t u = 0; u < kUnrolled; ++u) {
          inner = one(l.add(k, l.index(u)), inner);
        }
        return inner;
      });
  return body.loop(whole, depth, 1, next, one);
}

Sums AttentionBlock::multiplyRows(OperandReader &left,
                                  const OperandRows &leftRows,
                                  OperandReader &right,
                                  const OperandRows &rightRows, int64_t size) {
  return body.loop(l.index(0), l.index(size), kDepth, zeros(),
                   [&](Value col, ValueRange carried) {
                     body.syncBlock();
                     bringRows(left, leftRows, col, leftPart);
                     bringRows(right, rightRows, col, rightPart);
                     body.syncBlock();
                     Value depth =
                         l.min(l.index(kDepth), l.sub(l.index(size), col));
                     return multiply(leftPart, l.index(0), depth, carried);
                   });
}

Sums AttentionBlock::addProduct(ValueRange sums, OperandReader &right,
                                const OperandRows &rows, int64_t size) {
  Sums result;
  constexpr int64_t kNumbers = kOwn * kOwn;
  for (int64_t col = 0; col < size; col += kTile) {
    ValueRange own = sums.slice(col / kTile * kNumbers, kNumbers);
    llvm::append_range(
        result, body.loop(l.index(0), rows.count, kDepth, own,
                          [&](Value row, ValueRange carried) {
                            body.syncBlock();
                            bringDepth(right, rows, row, col, rightPart);
                            body.syncBlock();
                            Value depth =
                                l.min(l.index(kDepth), l.sub(rows.count, row));
                            return multiply(tile, row, depth, carried);
                          }));
  }
  return result;
}

void AttentionBlock::share(ArrayRef<Value> sums, bool transposed) {
  body.syncBlock();
  for (int64_t i = 0; i < kOwn; ++i) {
    Sums line;
    for (int64_t j = 0; j < kOwn; ++j) {
      line.push_back(sums[transposed ? j * kOwn + i : i * kOwn + j]);
    }
    Value row = l.add(transposed ? ownCol : ownRow, l.index(i));
    store(tile,
          l.add(l.mul(row, l.index(kPitch)), transposed ? ownRow : ownCol),
          line);
  }
  body.syncBlock();
}

void AttentionBlock::storeRows(
    unsigned result, ArrayRef<Value> sums, const OperandRows &rows,
    int64_t size, llvm::function_ref<Value(int64_t, Value)> adjust) {
  int64_t together = size % kOwn == 0 ? kOwn : 1;
  for (auto [number, value] : llvm::enumerate(sums)) {
    if (number % together != 0) {
      continue;
    }
    int64_t place = int64_t(number) % (kOwn * kOwn);
    int64_t firstCol = int64_t(number) / (kOwn * kOwn) * kTile + place % kOwn;
    Value row = l.add(ownRow, l.index(place / kOwn));
    Value col = l.add(ownCol, l.index(firstCol));
    Value inside =
        l.logicalAnd(l.compare(arith::CmpIPredicate::slt, row, rows.count),
                     l.compare(arith::CmpIPredicate::slt, col, l.index(size)));
    body.when(inside, [&, number = number] {
      Sums stored;
      for (Value own : sums.slice(number, together)) {
        stored.push_back(
            loops.emitResult(l, result, adjust(place / kOwn, own)));
      }
      Value line = l.add(rows.first, l.mul(row, l.index(rows.step)));
      store(body.resultPointer(result), l.add(l.mul(line, l.index(size)), col),
            stored);
    });
  }
}

SmallVector<Value>
AttentionBlock::either(Value condition,
                       llvm::function_ref<SmallVector<Value>()> then,
                       ValueRange otherwise) {
  ImplicitLocOpBuilder &b = l.b;
  auto branch = b.create<scf::IfOp>(otherwise.getTypes(), condition,
                                    /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  b.create<scf::YieldOp>(then());
  b.setInsertionPointToStart(branch.elseBlock());
  b.create<scf::YieldOp>(otherwise);
  return SmallVector<Value>(branch.getResults());
}
