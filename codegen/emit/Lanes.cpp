//===- Lanes.cpp - values of several lanes, or of one ---------------------===//

#include "codegen/emit/Lanes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

Type emit::storageType(Type element) {
  if (element.isInteger(1)) {
    return IntegerType::get(element.getContext(), 8);
  }
  return valueType(element);
}

Type emit::valueType(Type element) {
  if (element.isInteger() || element.isF16() || element.isBF16()) {
    return IntegerType::get(element.getContext(),
                            element.getIntOrFloatBitWidth());
  }
  return element;
}

TypedAttr emit::valueAttr(TypedAttr element) {
  Type type = element.getType(), value = valueType(type);
  if (auto integer = dyn_cast<IntegerAttr>(element)) {
    return IntegerAttr::get(value, integer.getValue());
  }
  auto real = cast<FloatAttr>(element);
  return value == type
             ? TypedAttr(real)
             : IntegerAttr::get(value, real.getValue().bitcastToAPInt());
}

Type Lanes::vectorOf(Type element) const {
  return width == 1 ? element : VectorType::get({width}, element);
}

Type Lanes::scalar(Type type) { return getElementTypeOrSelf(type); }

Type Lanes::like(Type like, Type element) const {
  return isa<VectorType>(like) ? Type(vectorOf(element)) : element;
}

bool Lanes::isVector(Value value) { return isa<VectorType>(value.getType()); }

Value Lanes::real(Type type, double value) {
  return constant(type, b.getFloatAttr(scalar(type), value));
}

Value Lanes::integer(Type type, int64_t value) {
  auto element = cast<IntegerType>(scalar(type));
  APInt bits(64, static_cast<uint64_t>(value), /*isSigned=*/true);
  return constant(type,
                  b.getIntegerAttr(element, bits.trunc(element.getWidth())));
}

Value Lanes::constant(Type type, Attribute element) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    return b.create<arith::ConstantOp>(DenseElementsAttr::get(vector, element));
  }
  return b.create<arith::ConstantOp>(cast<TypedAttr>(element));
}

Value Lanes::iota(Type element) {
  auto type = dyn_cast<VectorType>(vectorOf(element));
  if (!type) {
    return zero(element);
  }
  SmallVector<APInt> lanes;
  for (int64_t lane : llvm::seq<int64_t>(0, width)) {
    lanes.emplace_back(element.getIntOrFloatBitWidth(), lane);
  }
  return b.create<arith::ConstantOp>(DenseElementsAttr::get(type, lanes));
}

Value Lanes::toIndex(Value value) {
  unsigned bits = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  Type type = like(value.getType(), indexType);
  if (bits == indexType.getWidth()) {
    return value;
  }
  return bits < indexType.getWidth()
             ? Value(b.create<arith::ExtSIOp>(type, value))
             : Value(b.create<arith::TruncIOp>(type, value));
}

// Before it is made narrower: what is cut off may be far beyond.
Value Lanes::clampIndex(Value value, int64_t count) {
  if (getElementTypeOrSelf(value).getIntOrFloatBitWidth() <
      indexType.getWidth()) {
    value = toIndex(value);
  }
  value = max(value, zero(value.getType()));
  return toIndex(min(value, integer(value.getType(), count - 1)));
}

Value Lanes::splat(Value value) {
  return isVector(value) || width == 1
             ? value
             : b.create<vector::BroadcastOp>(vectorOf(value.getType()), value);
}

namespace {
template <typename FloatOp, typename IntOp>
Value binary(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x))) {
    return b.create<FloatOp>(x, y);
  }
  return b.create<IntOp>(x, y);
}
} // namespace

Value Lanes::add(Value x, Value y) {
  return binary<arith::AddFOp, arith::AddIOp>(b, x, y);
}

Value Lanes::sub(Value x, Value y) {
  return binary<arith::SubFOp, arith::SubIOp>(b, x, y);
}

Value Lanes::mul(Value x, Value y) {
  return binary<arith::MulFOp, arith::MulIOp>(b, x, y);
}

Value Lanes::div(Value x, Value y) { return b.create<arith::DivFOp>(x, y); }

Value Lanes::fma(Value x, Value y, Value z) {
  return b.create<math::FmaOp>(x, y, z);
}

Value Lanes::polynomial(Value x, ArrayRef<double> coefficients) {
  Value result = real(x.getType(), coefficients.front());
  for (double coefficient : coefficients.drop_front()) {
    result = fma(result, x, real(x.getType(), coefficient));
  }
  return result;
}

Value Lanes::select(Value condition, Value x, Value y) {
  return b.create<arith::SelectOp>(condition, x, y);
}

Value Lanes::compare(arith::CmpFPredicate predicate, Value x, Value y) {
  return b.create<arith::CmpFOp>(predicate, x, y);
}

Value Lanes::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return b.create<arith::CmpIOp>(predicate, x, y);
}

Value Lanes::logicalAnd(Value x, Value y) {
  return b.create<arith::AndIOp>(x, y);
}

Value Lanes::logicalOr(Value x, Value y) {
  return b.create<arith::OrIOp>(x, y);
}

std::pair<Value, Value> Lanes::divide(Value x, int64_t by) {
  return {b.create<arith::DivUIOp>(x, index(by)),
          b.create<arith::RemUIOp>(x, index(by))};
}

Value Lanes::max(Value x, Value y, bool isUnsigned) {
  if (!isa<FloatType>(getElementTypeOrSelf(x))) {
    auto greater =
        isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
    return select(compare(greater, x, y), x, y);
  }
  return b.create<arith::MaximumFOp>(x, y);
}

Value Lanes::min(Value x, Value y, bool isUnsigned) {
  if (!isa<FloatType>(getElementTypeOrSelf(x))) {
    auto less =
        isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
    return select(compare(less, x, y), x, y);
  }
  return b.create<arith::MinimumFOp>(x, y);
}

// In range before it is converted: beyond it, LLVM's conversion means nothing.
// Its saturating one is written element by element for x86.
Value Lanes::toInteger(Value x, Type to, bool isUnsigned) {
  Type type = x.getType();
  auto element = cast<FloatType>(scalar(type));
  unsigned width = scalar(to).getIntOrFloatBitWidth();
  assert((!isUnsigned || width < 32) && "nn has no such type");
  APInt least =
      isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  APInt greatest =
      isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  // The floats nearest to zero; the greatest i32 is no f32.
  auto bound = [&](const APInt &integer) {
    APFloat value(element.getFloatSemantics());
    value.convertFromAPInt(integer, !isUnsigned, APFloat::rmTowardZero);
    return constant(type, b.getFloatAttr(element, value));
  };
  using FP = arith::CmpFPredicate;
  Value low = bound(least), high = bound(greatest);
  Value above = compare(FP::OGT, x, high);
  Value inside = select(compare(FP::UNO, x, x), zero(type), x);
  inside = select(compare(FP::OLT, x, low), low, select(above, high, inside));
  Type through = width < 32 ? like(type, b.getI32Type()) : to;
  Value whole = b.create<arith::FPToSIOp>(through, inside);
  if (through != to) {
    return b.create<arith::TruncIOp>(to, whole);
  }
  return select(above, constant(to, b.getIntegerAttr(scalar(to), greatest)),
                whole);
}

Value Lanes::maskBelow(Value count) {
  return compare(arith::CmpIPredicate::slt, iota(indexType), splat(count));
}

Value Lanes::maskBelow(int64_t count) {
  auto type = dyn_cast<VectorType>(vectorOf(b.getI1Type()));
  if (!type) {
    return integer(b.getI1Type(), count > 0);
  }
  SmallVector<bool> lanes;
  for (int64_t lane : llvm::seq<int64_t>(0, width)) {
    lanes.push_back(lane < count);
  }
  return b.create<arith::ConstantOp>(
      DenseElementsAttr::get(type, ArrayRef<bool>(lanes)));
}

Value Lanes::horizontal(Value x,
                        llvm::function_ref<Value(Value, Value)> combine) {
  if (width == 1) {
    return x;
  }
  for (int64_t half = width / 2; half >= 1; half /= 2) {
    auto low = llvm::to_vector(llvm::seq<int64_t>(0, half));
    auto high = llvm::to_vector(llvm::seq<int64_t>(half, 2 * half));
    x = combine(b.create<vector::ShuffleOp>(x, x, low),
                b.create<vector::ShuffleOp>(x, x, high));
  }
  return b.create<vector::ExtractOp>(x, ArrayRef<int64_t>{0});
}

void Lanes::transpose(MutableArrayRef<Value> rows) {
  // Exchanges blocks of half the size at a time, between rows that far apart.
  for (int64_t half = width / 2; half > 0; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < width; ++lane) {
      bool second = (lane & half) != 0;
      low.push_back(second ? width + lane - half : lane);
      high.push_back(second ? width + lane : lane + half);
    }
    for (int64_t row = 0; row < width; ++row) {
      if ((row & half) == 0) {
        Value x = rows[row], y = rows[row + half];
        rows[row] = b.create<vector::ShuffleOp>(x, y, low);
        rows[row + half] = b.create<vector::ShuffleOp>(x, y, high);
      }
    }
  }
}
