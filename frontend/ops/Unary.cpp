//===- Unary.cpp - functions of one value, element by element -------------===//

#include "frontend/emit/StableLog.h"
#include "frontend/ops/Ops.h"

#include <cmath>

using mlir::Value;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

template <UnaryKind kind>
void emitUnary(Op &op) {
  op.set(0, op.emit.unary(kind, op.value(0)));
}

void emitLog(Op &op) {
  Value x = op.value(0);
  StableForm stable = stableLog(op.emit, x);
  if (!stable.form.empty()) {
    op.context.log.noteStable(op.proto(), stable.form);
  }
  op.set(0, stable.value ? stable.value : op.emit.unary(UnaryKind::log, x));
}

double sign(double x) { return x != x ? x : (x > 0) - (x < 0); }
double reciprocal(double x) { return 1 / x; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <double (*function)(double)>
void foldFloat(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  op.set(0, foldUnary(
                x, x.type(),
                [](int64_t value) {
                  return toInteger(function(static_cast<double>(value)));
                },
                function));
}

void foldNeg(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  op.set(0, foldUnary(
                x, x.type(), [](int64_t v) { return wrapMul(v, -1); },
                [](double v) { return -v; }));
}

void foldAbs(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  op.set(0,
         foldUnary(
             x, x.type(), [](int64_t v) { return v < 0 ? wrapMul(v, -1) : v; },
             [](double v) { return std::fabs(v); }));
}

const OpDef kOps[] = {
    {"Abs", 6, emitUnary<UnaryKind::abs>, foldAbs},
    {"Ceil", 6, emitUnary<UnaryKind::ceil>, foldFloat<std::ceil>, gradientTo<>},
    {"Cos", 7, emitUnary<UnaryKind::cos>, foldFloat<std::cos>},
    {"Erf", 9, emitUnary<UnaryKind::erf>, foldFloat<std::erf>},
    {"Exp", 6, emitUnary<UnaryKind::exp>, foldFloat<std::exp>},
    {"Floor", 6, emitUnary<UnaryKind::floor>, foldFloat<std::floor>,
     gradientTo<>},
    {"Log", 6, emitLog, foldFloat<std::log>},
    {"Neg", 6, emitUnary<UnaryKind::neg>, foldNeg},
    {"Reciprocal", 6, emitUnary<UnaryKind::reciprocal>, foldFloat<reciprocal>},
    {"Round", 11, emitUnary<UnaryKind::round>, foldFloat<std::nearbyint>,
     gradientTo<>},
    {"Sigmoid", 6, emitUnary<UnaryKind::sigmoid>, foldFloat<sigmoid>},
    {"Sign", 9, emitUnary<UnaryKind::sign>, foldFloat<sign>, gradientTo<>},
    {"Sin", 7, emitUnary<UnaryKind::sin>, foldFloat<std::sin>},
    {"Sqrt", 6, emitUnary<UnaryKind::sqrt>, foldFloat<std::sqrt>},
    {"Tanh", 6, emitUnary<UnaryKind::tanh>, foldFloat<std::tanh>},
};

} // namespace

llvm::ArrayRef<OpDef> unaryOps() { return kOps; }

} // namespace zerograph::frontend
