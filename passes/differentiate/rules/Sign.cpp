//===- Sign.cpp - what is known of the sign of numbers --------------------===//

#include "passes/differentiate/rules/Sign.h"

#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Most ops between a value and what decides its sign.
constexpr int kMostDepth = 50;

Sign ofNumber(double x) {
  return x > 0 ? Sign::Positive : x == 0 ? Sign::NotNegative : Sign::Any;
}

/// Returns the sign after rounding, or after a sum of nothing: it may be 0.
Sign maybeZero(Sign sign) { return std::min(sign, Sign::NotNegative); }

class Signs {
public:
  Sign of(Value value) {
    if (auto known = signs.find(value); known != signs.end()) {
      return known->second;
    }
    Operation *op = value.getDefiningOp();
    if (op == nullptr || depth == kMostDepth) {
      return Sign::Any;
    }
    ++depth;
    Sign sign = ofResult(op);
    --depth;
    signs[value] = sign;
    return sign;
  }

private:
  Sign ofResult(Operation *op) {
    if (auto pad = dyn_cast<PadOp>(op)) {
      return std::min(of(pad.getOperand()), ofAttribute(pad.getValue()));
    }
    if (isView(op)) {
      return of(op->getOperand(0));
    }
    return TypeSwitch<Operation *, Sign>(op)
        .Case([&](ConstantOp constant) { return ofConstant(constant); })
        .Case([&](UnaryOp unary) { return ofUnary(unary); })
        .Case([&](BinaryOp binary) { return ofBinary(binary); })
        .Case([&](SelectOp select) { return ofSelect(select); })
        .Case([&](ConvertOp convert) {
          return isFloat(convert.getOperand()) ? maybeZero(leastOf(op))
                                               : ofInteger(convert);
        })
        .Case([&](MatmulOp product) {
          return isDotOfItself(product) ? Sign::NotNegative
                                        : maybeZero(leastOf(op));
        })
        .Case([&](ReduceOp reduce) {
          return reduce.getKind() == ReduceKind::prod ? maybeZero(leastOf(op))
                                                      : leastOf(op);
        })
        .Case<ConcatOp>([&](auto) { return leastOf(op); })
        .Case<PoolOp, CumsumOp, DropoutOp>(
            [&](auto) { return maybeZero(leastOf(op)); })
        .Case<SoftmaxOp, IotaOp, RandomUniformOp>(
            [](auto) { return Sign::NotNegative; })
        .Default(Sign::Any);
  }

  Sign leastOf(Operation *op) {
    Sign least = Sign::Positive;
    for (Value operand : op->getOperands()) {
      least = std::min(least, of(operand));
    }
    return least;
  }

  static Sign ofAttribute(Attribute number) {
    auto real = dyn_cast<FloatAttr>(number);
    return real ? ofNumber(real.getValueAsDouble()) : Sign::Any;
  }

  static Sign ofConstant(ConstantOp constant) {
    auto reals = dyn_cast<DenseFPElementsAttr>(constant.getValue());
    if (!reals) {
      return Sign::Any;
    }
    if (reals.isSplat()) {
      return ofNumber(reals.getSplatValue<APFloat>().convertToDouble());
    }
    Sign least = Sign::Positive;
    for (const APFloat &each : reals) {
      least = std::min(least, ofNumber(each.convertToDouble()));
    }
    return least;
  }

  /// Truth values become 0 or 1; nothing is known of other integers.
  static Sign ofInteger(ConvertOp convert) {
    return elementOf(convert.getOperand()).isInteger(1) ? Sign::NotNegative
                                                        : Sign::Any;
  }

  Sign ofUnary(UnaryOp op) {
    switch (op.getKind()) {
    case UnaryKind::exp:
    case UnaryKind::sigmoid:
      return Sign::NotNegative; // 0 if it is too small
    case UnaryKind::abs:
    case UnaryKind::sqrt:
      return std::max(of(op.getOperand()), Sign::NotNegative);
    case UnaryKind::reciprocal:
    case UnaryKind::sign:
    case UnaryKind::log1p:
    case UnaryKind::expm1:
    case UnaryKind::tanh:
    case UnaryKind::erf:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
      return maybeZero(of(op.getOperand()));
    default:
      return Sign::Any;
    }
  }

  Sign ofBinary(BinaryOp op) {
    Value a = op.getLhs(), b = op.getRhs();
    Sign least = leastOf(op), most = std::max(of(a), of(b));
    switch (op.getKind()) {
    case BinaryKind::add:
      return least == Sign::Any ? least : most;
    case BinaryKind::max:
      return most;
    case BinaryKind::min:
      return least;
    case BinaryKind::mul:
    case BinaryKind::div:
      return a == b || (most != Sign::Any && (isData(a) || isData(b)))
                 ? Sign::NotNegative
                 : maybeZero(least);
    case BinaryKind::pow:
      return isEven(b) ? Sign::NotNegative : maybeZero(of(a));
    default:
      return Sign::Any;
    }
  }

  /// The importer writes relu and clamps as `select(x <= bound, bound, x)`.
  Sign ofSelect(SelectOp op) {
    Value below = op.getOnTrue(), x = op.getOnFalse();
    auto test = op.getCondition().getDefiningOp<CompareOp>();
    bool bounded = test && test.getLhs() == x &&
                   (test.getKind() == CompareKind::le ||
                    test.getKind() == CompareKind::lt);
    Sign beyond = bounded ? of(test.getRhs()) : Sign::Any;
    return std::min(of(below), std::max(of(x), beyond));
  }

  static bool isEven(Value exponent) {
    DenseFPElementsAttr number;
    if (!matchPattern(exponent, m_Constant(&number)) || !number.isSplat()) {
      return false;
    }
    double half = number.getSplatValue<APFloat>().convertToDouble() / 2;
    return half == std::floor(half);
  }

  /// A product of a row and the same numbers as a column.
  static bool isDotOfItself(MatmulOp op) {
    ArrayRef<int64_t> shape = shapeOf(op.getResult());
    auto numbers = [](Value value) {
      auto transpose = value.getDefiningOp<TransposeOp>();
      return stripReshapes(transpose ? transpose.getOperand() : value);
    };
    return shape.take_back(2) == ArrayRef<int64_t>{1, 1} &&
           numbers(op.getLhs()) == numbers(op.getRhs());
  }

  static bool isData(Value value) {
    Operation *op = value.getDefiningOp();
    while (op && (isView(op) || isa<ConvertOp>(op))) {
      value = op->getOperand(0);
      op = value.getDefiningOp();
    }
    auto argument = dyn_cast<BlockArgument>(value);
    auto program =
        argument
            ? dyn_cast_or_null<ProgramOp>(argument.getOwner()->getParentOp())
            : ProgramOp();
    if (!program) {
      return false;
    }
    auto parameter = program.getArgAttrOfType<ParameterAttr>(
        argument.getArgNumber(), kParameterAttr);
    return !parameter || !parameter.getTrainable();
  }

  llvm::DenseMap<Value, Sign> signs; // never iterated
  int depth = 0;
};

} // namespace

Sign mlir::zg::nn::signOf(Value value) { return Signs().of(value); }
