//===- Elementwise.cpp - one elementwise op on lanes ----------------------===//

#include "codegen/emit/Elementwise.h"

#include "codegen/emit/Math.h"
#include "codegen/emit/Random.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;
using FP = arith::CmpFPredicate;
using IP = arith::CmpIPredicate;

namespace {

Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

Value negate(Lanes &l, Value x) {
  if (isa<FloatType>(getElementTypeOrSelf(x))) {
    return l.b.create<arith::NegFOp>(x);
  }
  return l.sub(l.zero(x.getType()), x);
}

Value invert(Lanes &l, Value condition) {
  return l.b.create<arith::XOrIOp>(condition,
                                   l.integer(condition.getType(), -1));
}

Value emitIntegerUnary(Lanes &l, nn::UnaryKind kind, bool isUnsigned, Value x) {
  Type type = x.getType();
  Value zero = l.zero(type);
  switch (kind) {
  case nn::UnaryKind::logical_not:
    return invert(l, x);
  case nn::UnaryKind::neg:
    return negate(l, x);
  case nn::UnaryKind::abs:
    return isUnsigned ? x
                      : l.select(l.compare(IP::slt, x, zero), negate(l, x), x);
  case nn::UnaryKind::sign: {
    Value one = l.integer(type, 1);
    Value positive =
        isUnsigned ? l.compare(IP::ne, x, zero) : l.compare(IP::sgt, x, zero);
    Value sign = l.select(positive, one, zero);
    return isUnsigned ? sign
                      : l.select(l.compare(IP::slt, x, zero),
                                 l.integer(type, -1), sign);
  }
  default:
    llvm_unreachable("the verifier admits no other function of integers");
  }
}

Value emitUnary(Lanes &l, nn::UnaryOp op, Value x) {
  Type element = elementOf(op.getOperand());
  return element.isInteger()
             ? emitIntegerUnary(l, op.getKind(), element.isUnsignedInteger(), x)
             : emitFloatUnary(l, op.getKind(), x);
}

/// Quotient and remainder, truncating. Neither x / 0 (made 0, remainder 0) nor
/// the overflow of min / -1 (made -min) may trap.
std::pair<Value, Value> emitDivRem(Lanes &l, bool isUnsigned, Value x,
                                   Value y) {
  Type type = y.getType();
  Value zero = l.zero(type), one = l.integer(type, 1);
  Value byZero = l.compare(IP::eq, y, zero);
  if (isUnsigned) {
    Value divisor = l.select(byZero, one, y);
    Value q = l.b.create<arith::DivUIOp>(x, divisor);
    return {l.select(byZero, zero, q), l.b.create<arith::RemUIOp>(x, divisor)};
  }
  Value byMinusOne = l.compare(IP::eq, y, l.integer(type, -1));
  Value divisor = l.select(byZero, one, l.select(byMinusOne, one, y));
  Value q = l.b.create<arith::DivSIOp>(x, divisor);
  q = l.select(byMinusOne, negate(l, x), l.select(byZero, zero, q));
  return {q, l.b.create<arith::RemSIOp>(x, divisor)};
}

/// x - trunc(x / y) y in f64. The quotient may be one off where it was rounded
/// up to a whole number; the sign of the result tells.
Value emitFloatRem(Lanes &l, Value x, Value y) {
  Type type = x.getType();
  bool narrow = !getElementTypeOrSelf(type).isF64();
  Type wide = l.like(type, l.b.getF64Type());
  Value a = l.b.create<math::AbsFOp>(x), m = l.b.create<math::AbsFOp>(y);
  if (narrow) {
    a = l.b.create<arith::ExtFOp>(wide, a);
    m = l.b.create<arith::ExtFOp>(wide, m);
  }
  Value q = l.b.create<math::FloorOp>(l.div(a, m));
  Value r = l.fma(negate(l, q), m, a);
  r = l.select(l.compare(FP::OLT, r, l.zero(wide)), l.add(r, m), r);
  // x rem infinity is x.
  r = l.select(l.compare(FP::OLT, a, m), a, r);
  if (narrow) {
    r = l.b.create<arith::TruncFOp>(type, r);
  }
  return l.b.create<math::CopySignOp>(r, x);
}

Value emitCrossEntropy(Lanes &l, Value p, Value t) {
  Type type = p.getType();
  Value least = l.real(type, -100);
  Value no =
      l.max(emitFloatUnary(l, nn::UnaryKind::log1p, negate(l, p)), least);
  Value yes = l.max(emitFloatUnary(l, nn::UnaryKind::log, p), least);
  return l.sub(l.mul(l.sub(t, l.real(type, 1)), no), l.mul(t, yes));
}

Value emitFloatBinary(Lanes &l, nn::BinaryKind kind, Value x, Value y) {
  switch (kind) {
  case nn::BinaryKind::div:
    return l.div(x, y);
  case nn::BinaryKind::pow:
    return emitPow(l, x, y);
  case nn::BinaryKind::cross_entropy:
    return emitCrossEntropy(l, x, y);
  case nn::BinaryKind::rem:
    return emitFloatRem(l, x, y);
  case nn::BinaryKind::mod: {
    Value r = emitFloatRem(l, x, y), zero = l.zero(x.getType());
    Value differ = l.b.create<arith::XOrIOp>(l.compare(FP::OLT, r, zero),
                                             l.compare(FP::OLT, y, zero));
    Value adjust = l.logicalAnd(differ, l.compare(FP::ONE, r, zero));
    return l.select(adjust, l.add(r, y), r);
  }
  default:
    llvm_unreachable("handled by the caller, or refused by the verifier");
  }
}

Value emitIntegerBinary(Lanes &l, nn::BinaryKind kind, bool isUnsigned, Value x,
                        Value y) {
  switch (kind) {
  case nn::BinaryKind::div:
    return emitDivRem(l, isUnsigned, x, y).first;
  case nn::BinaryKind::rem:
    return emitDivRem(l, isUnsigned, x, y).second;
  case nn::BinaryKind::mod: {
    Value r = emitDivRem(l, isUnsigned, x, y).second;
    if (isUnsigned) {
      return r;
    }
    Value zero = l.zero(x.getType());
    Value differ = l.b.create<arith::XOrIOp>(l.compare(IP::slt, r, zero),
                                             l.compare(IP::slt, y, zero));
    Value adjust = l.logicalAnd(differ, l.compare(IP::ne, r, zero));
    return l.select(adjust, l.add(r, y), r);
  }
  case nn::BinaryKind::logical_and:
    return l.b.create<arith::AndIOp>(x, y);
  case nn::BinaryKind::logical_or:
    return l.b.create<arith::OrIOp>(x, y);
  case nn::BinaryKind::logical_xor:
    return l.b.create<arith::XOrIOp>(x, y);
  default:
    llvm_unreachable("handled by the caller, or refused by the verifier");
  }
}

Value emitBinary(Lanes &l, nn::BinaryOp op, Value x, Value y) {
  Type element = elementOf(op.getLhs());
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  switch (op.getKind()) {
  case nn::BinaryKind::add:
    return l.add(x, y);
  case nn::BinaryKind::sub:
    return l.sub(x, y);
  case nn::BinaryKind::mul:
    return l.mul(x, y);
  case nn::BinaryKind::max:
    return l.max(x, y, isUnsigned);
  case nn::BinaryKind::min:
    return l.min(x, y, isUnsigned);
  default:
    return isa<FloatType>(element)
               ? emitFloatBinary(l, op.getKind(), x, y)
               : emitIntegerBinary(l, op.getKind(), isUnsigned, x, y);
  }
}

Value emitCompare(Lanes &l, nn::CompareOp op, Value x, Value y) {
  Type element = elementOf(op.getLhs());
  auto kind = static_cast<unsigned>(op.getKind());
  if (isa<FloatType>(element)) {
    static constexpr FP predicates[] = {FP::OEQ, FP::UNE, FP::OLT,
                                        FP::OLE, FP::OGT, FP::OGE};
    return l.compare(predicates[kind], x, y);
  }
  static constexpr IP signedPredicates[] = {IP::eq,  IP::ne,  IP::slt,
                                            IP::sle, IP::sgt, IP::sge};
  static constexpr IP unsignedPredicates[] = {IP::eq,  IP::ne,  IP::ult,
                                              IP::ule, IP::ugt, IP::uge};
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  return l.compare(
      isUnsigned ? unsignedPredicates[kind] : signedPredicates[kind], x, y);
}

/// The bits of the f16 or bf16 nearest to an f32, ties to even.
Value emitToHalf(Lanes &l, Type half, Value x) {
  Type bits = l.like(x.getType(), l.b.getI16Type());
  if (half.isF16()) {
    Value value = l.b.create<arith::TruncFOp>(l.like(x.getType(), half), x);
    return l.b.create<arith::BitcastOp>(bits, value);
  }
  // The bits that are cut off, plus all ones but the last, carry where they are
  // over a half, or are one and the last bit kept is odd. A NaN stays one.
  Type word = l.like(x.getType(), l.b.getI32Type());
  Value whole = l.b.create<arith::BitcastOp>(word, x);
  Value sixteen = l.integer(word, 16);
  Value odd = l.b.create<arith::AndIOp>(
      l.b.create<arith::ShRUIOp>(whole, sixteen), l.integer(word, 1));
  Value rounded = l.add(l.add(whole, odd), l.integer(word, 0x7fff));
  Value nan = l.b.create<arith::OrIOp>(whole, l.integer(word, 1 << 22));
  Value kept = l.select(l.compare(FP::UNO, x, x), nan, rounded);
  return l.b.create<arith::TruncIOp>(bits,
                                     l.b.create<arith::ShRUIOp>(kept, sixteen));
}

Value emitFromFloat(Lanes &l, Type to, Type toType, Value x) {
  Type from = getElementTypeOrSelf(x);
  if (to.isInteger(1)) {
    return l.compare(FP::UNE, x, l.zero(x.getType()));
  }
  if (to.isInteger()) {
    return l.toInteger(x, toType, to.isUnsignedInteger());
  }
  if (to.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth()) {
    return l.b.create<arith::ExtFOp>(toType, x);
  }
  return l.b.create<arith::TruncFOp>(toType, x);
}

Value emitFromInteger(Lanes &l, Type from, Type to, Type toType, Value x) {
  if (from.isInteger(1)) {
    Value one = isa<FloatType>(to) ? l.real(toType, 1.0) : l.integer(toType, 1);
    return l.select(x, one, l.zero(toType));
  }
  if (to.isInteger(1)) {
    return l.compare(IP::ne, x, l.zero(x.getType()));
  }
  if (isa<FloatType>(to)) {
    if (from.isUnsignedInteger()) {
      return l.b.create<arith::UIToFPOp>(toType, x);
    }
    return l.b.create<arith::SIToFPOp>(toType, x);
  }
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = to.getIntOrFloatBitWidth();
  if (toWidth < fromWidth) {
    return l.b.create<arith::TruncIOp>(toType, x);
  }
  if (toWidth == fromWidth) {
    return x;
  }
  if (from.isUnsignedInteger()) {
    return l.b.create<arith::ExtUIOp>(toType, x);
  }
  return l.b.create<arith::ExtSIOp>(toType, x);
}

Value emitConvert(Lanes &l, nn::ConvertOp op, Value x) {
  Type from = elementOf(op.getOperand()), to = elementOf(op.getResult());
  if (from == to) {
    return x;
  }
  Type toType = l.like(x.getType(), valueType(to));
  if (from.isF16() || from.isBF16()) {
    return emitFromHalf(l, from, x);
  }
  if (to.isF16() || to.isBF16()) {
    return emitToHalf(l, to, x);
  }
  return isa<FloatType>(from) ? emitFromFloat(l, to, toType, x)
                              : emitFromInteger(l, from, to, toType, x);
}

} // namespace

Value emit::emitFromHalf(Lanes &l, Type half, Value bits) {
  Type real = l.like(bits.getType(), l.b.getF32Type());
  if (half.isF16()) {
    Value value =
        l.b.create<arith::BitcastOp>(l.like(bits.getType(), half), bits);
    return l.b.create<arith::ExtFOp>(real, value);
  }
  Type word = l.like(bits.getType(), l.b.getI32Type());
  Value high = l.b.create<arith::ShLIOp>(l.b.create<arith::ExtUIOp>(word, bits),
                                         l.integer(word, 16));
  return l.b.create<arith::BitcastOp>(real, high);
}

LogicalResult emit::checkElementType(Operation *op, Type element) {
  if (element.isF32() || element.isF64() || element.isInteger(1) ||
      element.isInteger(8) || element.isInteger(16) || element.isInteger(32) ||
      element.isInteger(64)) {
    return success();
  }
  bool half = element.isF16() || element.isBF16();
  if (half && !nn::computes(op)) {
    return success(); // moved or converted
  }
  return op->emitError("'")
         << nn::nameOf(op->getLoc()) << "': kernels compute in f32, f64, "
         << "i1, i8, ui8, i16, i32 and i64, not in " << element
         << (half ? "; run nn-widen-half before" : "; convert around the op");
}

Value emit::emitElementwise(Lanes &l, Operation *op, ValueRange operands) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](nn::UnaryOp unary) { return emitUnary(l, unary, operands[0]); })
      .Case([&](nn::BinaryOp binary) {
        return emitBinary(l, binary, operands[0], operands[1]);
      })
      .Case([&](nn::CompareOp compare) {
        return emitCompare(l, compare, operands[0], operands[1]);
      })
      .Case([&](nn::SelectOp) {
        return l.select(operands[0], operands[1], operands[2]);
      })
      .Case([&](nn::ConvertOp convert) {
        return emitConvert(l, convert, operands[0]);
      })
      .Case([&](nn::RandomUniformOp random) {
        return emitUniform(l, operands[0], operands[1], operands[2],
                           random.getNumber());
      });
}

Value emit::emitCombine(Lanes &l, nn::ReduceKind kind, Type element, Value x,
                        Value y) {
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  switch (kind) {
  case nn::ReduceKind::sum:
    return l.add(x, y);
  case nn::ReduceKind::prod:
    return l.mul(x, y);
  case nn::ReduceKind::max:
    return l.max(x, y, isUnsigned);
  case nn::ReduceKind::min:
    return l.min(x, y, isUnsigned);
  }
  llvm_unreachable("unknown reduction");
}

Value emit::emitNeutral(Lanes &l, nn::ReduceKind kind, Type element,
                        Type type) {
  bool isFloat = isa<FloatType>(element);
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger() || width == 1;
  auto bits = [&](APInt value) {
    return l.constant(type, l.b.getIntegerAttr(valueType(element), value));
  };
  switch (kind) {
  case nn::ReduceKind::sum:
    return l.zero(type);
  case nn::ReduceKind::prod:
    return isFloat ? l.real(type, 1.0) : l.integer(type, 1);
  case nn::ReduceKind::max:
    return isFloat ? l.real(type, -INFINITY)
                   : bits(isUnsigned ? APInt::getZero(width)
                                     : APInt::getSignedMinValue(width));
  case nn::ReduceKind::min:
    return isFloat ? l.real(type, INFINITY)
                   : bits(isUnsigned ? APInt::getMaxValue(width)
                                     : APInt::getSignedMaxValue(width));
  }
  llvm_unreachable("unknown reduction");
}
