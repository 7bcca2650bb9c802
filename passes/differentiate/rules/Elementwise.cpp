//===- Elementwise.cpp - gradients of functions of single elements --------===//

#include "passes/differentiate/rules/Rule.h"
#include "passes/differentiate/rules/Sign.h"

#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// A root of what cannot be negative is at its minimum where it is 0: no
/// gradient passes there, as through PyTorch's norm and std. That of another
/// root is infinite, as in PyTorch.
Value rootGradient(Value x, Value y, Gradient &g) {
  Value slope = g.div(g.of(), g.scale(y, 2));
  return signOf(x) == Sign::NotNegative
             ? g.zeroIf(g.compare(CompareKind::eq, y, g.splat(y, 0)), slope)
             : slope;
}

/// Returns the gradient of x in y = log(x). If a clamp, a maximum or a select
/// takes another value, no gradient comes to y, and none passes: at 0 the
/// quotient would be 0 / 0.
Value logGradient(Value x, Value y, Gradient &g) {
  Value slope = g.div(g.of(), x);
  bool bounded = llvm::any_of(y.getUsers(), [](Operation *user) {
    auto binary = dyn_cast<BinaryOp>(user);
    return isa<SelectOp>(user) ||
           (binary && (binary.getKind() == BinaryKind::max ||
                       binary.getKind() == BinaryKind::min));
  });
  return bounded
             ? g.zeroIf(g.compare(CompareKind::eq, g.of(), g.splat(slope, 0)),
                        slope)
             : slope;
}

/// The gradient of the operand of y = f(x), or null where f is a step.
Value unaryGradient(UnaryKind kind, Value x, Value y, Gradient &g) {
  Value dy = g.of();
  switch (kind) {
  case UnaryKind::neg:
    return g.neg(dy);
  case UnaryKind::abs: // 0 at 0
    return g.mul(dy, g.unary(UnaryKind::sign, x));
  case UnaryKind::exp:
    return g.mul(dy, y);
  case UnaryKind::expm1:
    return g.mul(dy, g.unary(UnaryKind::exp, x));
  case UnaryKind::log:
    return logGradient(x, y, g);
  case UnaryKind::log1p:
    return logGradient(g.shift(x, 1), y, g);
  case UnaryKind::sqrt:
    return rootGradient(x, y, g);
  case UnaryKind::reciprocal:
    return g.mul(g.neg(dy), g.mul(y, y));
  case UnaryKind::tanh:
    return g.mul(dy, g.sub(g.splat(y, 1), g.mul(y, y)));
  case UnaryKind::sigmoid:
    return g.mul(dy, g.mul(g.sub(g.splat(y, 1), y), y));
  case UnaryKind::erf: {
    Value bell = g.unary(UnaryKind::exp, g.neg(g.mul(x, x)));
    return g.mul(dy, g.scale(bell, 2 / std::sqrt(M_PI)));
  }
  case UnaryKind::sin:
    return g.mul(dy, g.unary(UnaryKind::cos, x));
  case UnaryKind::cos:
    return g.neg(g.mul(dy, g.unary(UnaryKind::sin, x)));
  case UnaryKind::sign:
  case UnaryKind::floor:
  case UnaryKind::ceil:
  case UnaryKind::round:
  case UnaryKind::is_nan:
  case UnaryKind::is_inf:
  case UnaryKind::logical_not:
    return {};
  }
  llvm_unreachable("every unary kind has a case");
}

LogicalResult unaryRule(UnaryOp op, Gradient &g) {
  g.set(0, unaryGradient(op.getKind(), op.getOperand(), op.getResult(), g));
  return success();
}

/// Ties go half to each side, as in PyTorch's maximum and minimum; a NaN
/// passes the gradient to both.
void extremumRule(BinaryOp op, Gradient &g) {
  Value a = op.getLhs(), b = op.getRhs();
  Value tie = g.compare(CompareKind::eq, a, b);
  Value shared = g.select(tie, g.scale(g.of(), 0.5), g.of());
  bool max = op.getKind() == BinaryKind::max;
  CompareKind less = max ? CompareKind::lt : CompareKind::gt;
  CompareKind more = max ? CompareKind::gt : CompareKind::lt;
  if (g.wants(0)) {
    g.set(0, g.zeroIf(g.compare(less, a, b), shared));
  }
  if (g.wants(1)) {
    g.set(1, g.zeroIf(g.compare(more, a, b), shared));
  }
}

/// The gradient of x in x^n for the exponents that need no pow, or null.
Value knownPowerGradient(Value x, double exponent, Gradient &g) {
  if (exponent == 1) {
    return g.of();
  }
  if (exponent == 2) {
    return g.mul(g.of(), g.scale(x, 2));
  }
  if (exponent == 3) {
    return g.mul(g.of(), g.scale(g.mul(x, x), 3));
  }
  return {};
}

void powRule(BinaryOp op, Gradient &g) {
  Value x = op.getLhs(), n = op.getRhs(), y = op.getResult();
  Value zero = g.splat(x, 0);
  if (g.wants(0)) {
    DenseElementsAttr constant;
    Value known;
    if (matchPattern(n, m_Constant(&constant)) && constant.isSplat()) {
      known = knownPowerGradient(
          x, constant.getSplatValue<APFloat>().convertToDouble(), g);
    }
    if (!known) {
      // x^0 is 1 everywhere, also where x^-1 is infinite.
      Value power = g.binary(BinaryKind::pow, x, g.shift(n, -1));
      Value slope = g.mul(g.of(), g.mul(n, power));
      known = g.zeroIf(g.compare(CompareKind::eq, n, zero), slope);
      if (signOf(x) == Sign::NotNegative) { // a root, see above
        Value fraction = g.binary(BinaryKind::logical_and,
                                  g.compare(CompareKind::lt, zero, n),
                                  g.compare(CompareKind::lt, n, g.splat(n, 1)));
        known = g.zeroIf(g.binary(BinaryKind::logical_and, fraction,
                                  g.compare(CompareKind::eq, x, zero)),
                         known);
      }
    }
    g.set(0, known);
  }
  if (g.wants(1)) {
    // 0^n is 0 for every n > 0; its formula would be 0 * log(0).
    Value slope = g.mul(y, g.unary(UnaryKind::log, x));
    Value atZero =
        g.builder.create<BinaryOp>(g.location, BinaryKind::logical_and,
                                   g.compare(CompareKind::eq, x, zero),
                                   g.compare(CompareKind::ge, n, zero));
    g.set(1, g.mul(g.of(), g.zeroIf(atZero, slope)));
  }
}

/// As in PyTorch: of the probability bounded, also where it is 0 or 1, whatever
/// it is made of; of the target the difference of the logarithms.
void crossEntropyRule(BinaryOp op, Gradient &g) {
  Value p = op.getLhs(), t = op.getRhs();
  if (g.wants(0)) {
    Value both = g.mul(g.sub(g.splat(p, 1), p), p);
    Value least = g.splat(p, 1e-12);
    g.set(0, g.div(g.mul(g.of(), g.sub(p, t)),
                   g.binary(BinaryKind::max, both, least)));
  }
  if (g.wants(1)) {
    Value least = g.splat(p, -100);
    auto bounded = [&](UnaryKind kind, Value x) {
      return g.binary(BinaryKind::max, g.unary(kind, x), least);
    };
    g.set(1, g.mul(g.of(), g.sub(bounded(UnaryKind::log1p, g.neg(p)),
                                 bounded(UnaryKind::log, p))));
  }
}

/// a mod b = a - b * round(a / b), rounded down or toward zero.
void remainderRule(BinaryOp op, Gradient &g) {
  if (g.wants(0)) {
    g.set(0, g.of());
  }
  if (!g.wants(1)) {
    return;
  }
  Value quotient = g.div(op.getLhs(), op.getRhs());
  Value whole = g.unary(UnaryKind::floor, quotient);
  if (op.getKind() == BinaryKind::rem) {
    Value negative = g.compare(CompareKind::lt, quotient, g.splat(quotient, 0));
    whole = g.select(negative, g.unary(UnaryKind::ceil, quotient), whole);
  }
  g.set(1, g.neg(g.mul(g.of(), whole)));
}

LogicalResult binaryRule(BinaryOp op, Gradient &g) {
  Value a = op.getLhs(), b = op.getRhs();
  switch (op.getKind()) {
  case BinaryKind::add:
    g.set(0, g.of());
    g.set(1, g.of());
    break;
  case BinaryKind::sub:
    g.set(0, g.of());
    if (g.wants(1)) {
      g.set(1, g.neg(g.of()));
    }
    break;
  case BinaryKind::mul:
    if (g.wants(0)) {
      g.set(0, g.mul(g.of(), b));
    }
    if (g.wants(1)) {
      g.set(1, g.mul(g.of(), a));
    }
    break;
  case BinaryKind::div: {
    Value overB = g.div(g.of(), b);
    g.set(0, overB);
    if (g.wants(1)) {
      g.set(1, g.neg(g.mul(overB, op.getResult())));
    }
    break;
  }
  case BinaryKind::max:
  case BinaryKind::min:
    extremumRule(op, g);
    break;
  case BinaryKind::pow:
    powRule(op, g);
    break;
  case BinaryKind::cross_entropy:
    crossEntropyRule(op, g);
    break;
  case BinaryKind::mod:
  case BinaryKind::rem:
    remainderRule(op, g);
    break;
  case BinaryKind::logical_and:
  case BinaryKind::logical_or:
  case BinaryKind::logical_xor:
    break;
  }
  return success();
}

LogicalResult selectRule(SelectOp op, Gradient &g) {
  if (g.wants(1)) {
    g.set(1, g.keepIf(op.getCondition(), g.of()));
  }
  if (g.wants(2)) {
    // The softmax's own gradient is zero there: backward needs no condition,
    // which would have an element for each of attention's scores.
    g.set(2,
          givesZeroForNaN(op) ? g.of() : g.zeroIf(op.getCondition(), g.of()));
  }
  return success();
}

LogicalResult convertRule(ConvertOp op, Gradient &g) {
  g.set(0, g.convert(g.of(), elementOf(op.getOperand())));
  return success();
}

} // namespace

void mlir::zg::nn::attachElementwiseRules(MLIRContext *context) {
  attachRule<UnaryOp, unaryRule>(context);
  attachRule<BinaryOp, binaryRule>(context);
  attachRule<SelectOp, selectRule>(context);
  attachRule<ConvertOp, convertRule>(context);
}
