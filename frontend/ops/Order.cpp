//===- Order.cpp - the largest elements and their places ------------------===//
//
// Made of comparisons and reductions: so gradients need no scatter, and results
// are the same on every device.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::ReduceKind;

namespace zerograph::frontend {

namespace {

/// The first (or last) place along an axis that holds the extreme.
template <ReduceKind kind>
void emitArgExtreme(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  int64_t axis = normalizeAxis(op.intAttribute("axis", 0), shape.size());
  bool last = op.intAttribute("select_last_index", 0) != 0;
  // As the ReduceMax beside an ArgMax: both are computed once.
  Value extreme = emit.reduce(kind, x, {axis}, true, /*first=*/true);
  Value hit = emit.compare(CompareKind::eq, x, extreme);
  Value place = emit.iota(axis, shape, emit.builder.getI64Type());
  // Elements that are not the extreme never win.
  Value other =
      emit.splatLike(last ? 0 : static_cast<double>(shape[axis] - 1), place);
  op.set(0, emit.reduce(last ? ReduceKind::max : ReduceKind::min,
                        emit.select(hit, place, other), {axis},
                        op.intAttribute("keepdims", 1) != 0));
}

/// 1 at the first of the largest elements along an axis, 0 elsewhere. Before
/// version 13 the dims from the axis on count as one.
void emitHardmax(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  int64_t rank = shape.size(), axis;
  if (op.opset() < 13) {
    axis = normalizeAxis(op.intAttribute("axis", 1), rank);
    int64_t rows = elementCount(Shape(shape.begin(), shape.begin() + axis));
    x = emit.reshape(x, {rows, elementCount(shape) / rows});
    axis = 1;
  } else {
    axis = normalizeAxis(op.intAttribute("axis", -1), rank);
  }
  Shape flat = Emitter::shapeOf(x);
  Value top = emit.reduce(ReduceKind::max, x, {axis}, true);
  Value hit = emit.compare(CompareKind::eq, x, top);
  Value place = emit.iota(axis, flat, emit.builder.getI64Type());
  Value first = emit.reduce(
      ReduceKind::min,
      emit.select(hit, place,
                  emit.splatLike(static_cast<double>(flat[axis]), place)),
      {axis}, true);
  Value chosen = emit.compare(CompareKind::eq, place, first);
  op.set(0, emit.reshape(
                emit.select(chosen, emit.splatLike(1, x), emit.splatLike(0, x)),
                shape));
}

/// How many of the elements of each row come before each one, [rows, size]: the
/// larger ones (or smaller ones), and equal ones in front of it.
Value ranksOf(Emitter &emit, Value x, bool largest) {
  int64_t rows = Emitter::shapeOf(x)[0], size = Emitter::shapeOf(x)[1];
  mlir::Type i32 = emit.builder.getI32Type();
  Shape pairs{rows, size, size}; // [row, element, the one it is compared with]
  Value own = emit.broadcastTo(emit.reshape(x, {rows, size, 1}), pairs);
  Value other = emit.broadcastTo(emit.reshape(x, {rows, 1, size}), pairs);
  Value before =
      emit.compare(largest ? CompareKind::gt : CompareKind::lt, other, own);
  Value tie = emit.binary(
      BinaryKind::logical_and, emit.compare(CompareKind::eq, other, own),
      emit.compare(CompareKind::lt, emit.iota(2, pairs, i32),
                   emit.iota(1, pairs, i32)));
  before = emit.binary(BinaryKind::logical_or, before, tie);
  return emit.reduce(ReduceKind::sum, emit.convert(before, i32), {2}, false);
}

/// The number of elements that a TopK asks for, of `size`.
int64_t wantedOf(Op &op, int64_t size) {
  std::vector<int64_t> wanted =
      op.hasInput(1) ? op.constantInts(1, "K")
                     : std::vector<int64_t>{op.intAttribute("k", 0)};
  if (wanted.size() != 1 || wanted[0] < 1 || wanted[0] > size) {
    fail("K must be one number from 1 to ", size);
  }
  return wanted[0];
}

/// The element of rank p is what is left of a sum over the row in which the
/// others are zero. Quadratic in the length, but nothing of that size is
/// stored.
void emitTopK(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  if (shape.empty() || Emitter::elementOf(x).isInteger(1)) {
    fail("needs numbers of rank 1 or more");
  }
  int64_t axis = normalizeAxis(op.intAttribute("axis", -1), shape.size());
  int64_t size = shape[axis], last = shape.size() - 1;
  int64_t count = wantedOf(op, size);
  x = emit.moveAxis(x, axis, last);
  shape = Emitter::shapeOf(x);
  Shape result(shape.begin(), shape.end() - 1);
  int64_t rows = elementCount(result);
  result.push_back(count);
  x = emit.reshape(x, {rows, size});
  Value rank = ranksOf(emit, x, op.intAttribute("largest", 1) != 0);
  Shape chosen{rows, count, size};
  Value hit = emit.compare(
      CompareKind::eq,
      emit.broadcastTo(emit.reshape(rank, {rows, 1, size}), chosen),
      emit.iota(1, chosen, emit.builder.getI32Type()));
  auto pick = [&](Value values) {
    Value kept = emit.select(hit, emit.broadcastTo(values, chosen),
                             emit.splat(0, chosen, Emitter::elementOf(values)));
    Value picked = emit.reduce(ReduceKind::sum, kept, {2}, false);
    return emit.moveAxis(emit.reshape(picked, result), last, axis);
  };
  if (op.wantsOutput(0)) {
    op.set(0, pick(emit.reshape(x, {rows, 1, size})));
  }
  if (op.wantsOutput(1)) {
    op.set(1, pick(emit.iota(2, chosen, emit.builder.getI64Type())));
  }
}

const OpDef kOps[] = {
    {"ArgMax", 1, emitArgExtreme<ReduceKind::max>, nullptr, gradientTo<>},
    {"ArgMin", 1, emitArgExtreme<ReduceKind::min>, nullptr, gradientTo<>},
    {"Hardmax", 1, emitHardmax, nullptr, gradientTo<>},
    {"TopK", 1, emitTopK, nullptr, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> orderOps() { return kOps; }

} // namespace zerograph::frontend
