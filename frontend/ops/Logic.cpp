//===- Logic.cpp - comparisons, booleans, selection -----------------------===//

#include "frontend/ops/Ops.h"

#include <cmath>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::UnaryKind;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

template <typename T>
bool holds(CompareKind kind, T a, T b) {
  switch (kind) {
  case CompareKind::eq:
    return a == b;
  case CompareKind::ne:
    return a != b;
  case CompareKind::lt:
    return a < b;
  case CompareKind::le:
    return a <= b;
  case CompareKind::gt:
    return a > b;
  default:
    return a >= b;
  }
}

template <CompareKind kind>
void emitCompare(Op &op) {
  Value x = op.value(0), y = op.value(1);
  op.set(0, op.emit.compare(kind, x, y));
}

template <CompareKind kind>
void foldCompare(Op &op) {
  op.set(0,
         foldBinary(
             op.constant(0, "operand"), op.constant(1, "operand"),
             TensorProto::BOOL,
             [](int64_t a, int64_t b) -> int64_t { return holds(kind, a, b); },
             [](double a, double b) -> double { return holds(kind, a, b); }));
}

template <BinaryKind kind>
void emitLogical(Op &op) {
  // x and true, x or false: no op.
  for (int i : {0, 1}) {
    const HostTensor *constant = op.host(i);
    bool neutral = kind == BinaryKind::logical_and;
    if (constant != nullptr && constant->isSplat() &&
        kind != BinaryKind::logical_xor &&
        (constant->intAt(0) != 0) == neutral) {
      Shape shape = broadcastShapes(op.shape(0), op.shape(1));
      op.set(0, op.emit.broadcastTo(op.value(1 - i), shape));
      return;
    }
  }
  Value x = op.value(0), y = op.value(1);
  op.set(0, op.emit.binary(kind, x, y));
}

template <BinaryKind kind>
void foldLogical(Op &op) {
  auto combine = [](int64_t a, int64_t b) -> int64_t {
    bool x = a != 0, y = b != 0;
    return kind == BinaryKind::logical_and  ? x && y
           : kind == BinaryKind::logical_or ? x || y
                                            : x != y;
  };
  op.set(0, foldBinary(op.constant(0, "operand"), op.constant(1, "operand"),
                       TensorProto::BOOL, combine,
                       [](double, double) { return 0.0; }));
}

void emitNot(Op &op) {
  op.set(0, op.emit.unary(UnaryKind::logical_not, op.value(0)));
}

void foldNot(Op &op) {
  op.set(0, foldUnary(
                op.constant(0, "operand"), TensorProto::BOOL,
                [](int64_t v) -> int64_t { return v == 0; },
                [](double) { return 0.0; }));
}

void emitIsNaN(Op &op) {
  op.set(0, op.emit.unary(UnaryKind::is_nan, op.value(0)));
}

void foldIsNaN(Op &op) {
  op.set(0, foldUnary(
                op.constant(0, "operand"), TensorProto::BOOL,
                [](int64_t) -> int64_t { return 0; },
                [](double v) -> double { return v != v; }));
}

void emitIsInf(Op &op) {
  Value x = op.value(0);
  bool positive = op.intAttribute("detect_positive", 1) != 0;
  bool negative = op.intAttribute("detect_negative", 1) != 0;
  Value result = op.emit.unary(UnaryKind::is_inf, x);
  if (!positive || !negative) {
    Value sign =
        op.emit.compare(negative ? CompareKind::lt : CompareKind::gt, x, 0.0);
    if (!positive && !negative) {
      sign = op.emit.splatLike(0, sign);
    }
    result = op.emit.binary(BinaryKind::logical_and, result, sign);
  }
  op.set(0, result);
}

void emitWhere(Op &op) {
  const HostTensor *condition = op.host(0);
  if (condition != nullptr && condition->isSplat()) {
    int chosen = condition->intAt(0) != 0 ? 1 : 2;
    Shape shape = broadcastShapes(condition->shape(),
                                  broadcastShapes(op.shape(1), op.shape(2)));
    op.set(0, op.emit.broadcastTo(op.value(chosen), shape));
    return;
  }
  Value c = op.value(0), x = op.value(1), y = op.value(2);
  op.set(0, op.emit.select(c, x, y));
}

void foldWhere(Op &op) {
  const HostTensor &condition = op.constant(0, "condition");
  const HostTensor &x = op.constant(1, "operand");
  const HostTensor &y = op.constant(2, "operand");
  Shape shape =
      broadcastShapes(condition.shape(), broadcastShapes(x.shape(), y.shape()));
  HostTensor a = broadcastTo(x, shape), b = broadcastTo(y, shape);
  if (condition.isSplat()) {
    op.set(0, condition.intAt(0) != 0 ? a : b);
    return;
  }
  HostTensor c = broadcastTo(condition, shape);
  HostTensor result(x.type(), shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    result.copyFrom(i, c.intAt(i) != 0 ? a : b, i);
  }
  op.set(0, result);
}

const OpDef kOps[] = {
    {"And", 7, emitLogical<BinaryKind::logical_and>,
     foldLogical<BinaryKind::logical_and>, gradientTo<>},
    {"Equal", 7, emitCompare<CompareKind::eq>, foldCompare<CompareKind::eq>,
     gradientTo<>},
    {"Greater", 7, emitCompare<CompareKind::gt>, foldCompare<CompareKind::gt>,
     gradientTo<>},
    {"GreaterOrEqual", 12, emitCompare<CompareKind::ge>,
     foldCompare<CompareKind::ge>, gradientTo<>},
    {"IsInf", 10, emitIsInf, nullptr, gradientTo<>},
    {"IsNaN", 9, emitIsNaN, foldIsNaN, gradientTo<>},
    {"Less", 7, emitCompare<CompareKind::lt>, foldCompare<CompareKind::lt>,
     gradientTo<>},
    {"LessOrEqual", 12, emitCompare<CompareKind::le>,
     foldCompare<CompareKind::le>, gradientTo<>},
    {"Not", 1, emitNot, foldNot, gradientTo<>},
    {"Or", 7, emitLogical<BinaryKind::logical_or>,
     foldLogical<BinaryKind::logical_or>, gradientTo<>},
    {"Where", 9, emitWhere, foldWhere, gradientTo<1, 2>},
    {"Xor", 7, emitLogical<BinaryKind::logical_xor>,
     foldLogical<BinaryKind::logical_xor>, gradientTo<>},
};

} // namespace

llvm::ArrayRef<OpDef> logicOps() { return kOps; }

} // namespace zerograph::frontend
