//===- Lanes.h - values of several lanes, or of one -----------------------===//
//
// A device computes in vectors of as many lanes as it likes, whatever the
// element type and the machine's registers, and in scalars where a whole row
// shares a value. The same helper writes both: an op's operands tell which it
// is, and the bits are the same. A device of one lane has scalars alone.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LANES_H
#define ZEROGRAPH_CODEGEN_EMIT_LANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include <functional>

namespace mlir::zg::emit {

/// How an element of an nn tensor lies in memory: i1 in a byte.
Type storageType(Type element);
/// How it is computed with: integers without a sign; f16 and bf16, which are
/// only moved and converted, as their bits.
Type valueType(Type element);
/// An element of a constant as it is computed with.
TypedAttr valueAttr(TypedAttr element);

class Lanes;

/// Functions of f32 as a device approximates them.
class Approximation {
public:
  virtual ~Approximation() = default;
  /// Emits 2^x.
  virtual Value power(Lanes &lanes, Value x) const = 0;
  /// Emits 1/x.
  virtual Value reciprocal(Lanes &lanes, Value x) const = 0;
};

class Lanes {
public:
  /// `width`: lanes of a vector, a power of two. `indexBits`: of the numbers
  /// of rows, columns and places, 64 or, where none is beyond them, 32.
  Lanes(ImplicitLocOpBuilder &builder, int64_t width, unsigned indexBits = 64)
      : b(builder), width(width), indexType(builder.getIntegerType(indexBits)) {
  }

  ImplicitLocOpBuilder &b;
  const int64_t width;
  const IntegerType indexType;
  /// Is null where functions have the bits that every device gives them.
  const Approximation *approximation = nullptr;

  /// Returns a vector of lanes; of one lane, the element itself.
  Type vectorOf(Type element) const;
  /// `element` as a vector if `like` is one.
  Type like(Type like, Type element) const;
  static bool isVector(Value value);

  /// Constants of a scalar or vector type.
  Value real(Type type, double value);
  Value integer(Type type, int64_t value);
  Value zero(Type type) { return constant(type, b.getZeroAttr(scalar(type))); }
  Value constant(Type type, Attribute element);
  Value index(int64_t value) { return integer(indexType, value); }
  /// Signed integers as indices, where none is beyond them.
  Value toIndex(Value value);
  /// Signed integers as indices in [0, count), the nearest where they are not.
  Value clampIndex(Value value, int64_t count);
  /// 0, 1, ... width - 1.
  Value iota(Type element);
  Value splat(Value value);

  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value div(Value x, Value y);
  /// Returns quotient and remainder of an index that is not negative.
  std::pair<Value, Value> divide(Value x, int64_t by);
  /// x * y + z, rounded once.
  Value fma(Value x, Value y, Value z);
  /// Horner's rule with fma, the highest coefficient first.
  Value polynomial(Value x, ArrayRef<double> coefficients);
  Value select(Value condition, Value x, Value y);
  Value compare(arith::CmpFPredicate predicate, Value x, Value y);
  Value compare(arith::CmpIPredicate predicate, Value x, Value y);
  Value logicalAnd(Value x, Value y);
  Value logicalOr(Value x, Value y);
  /// The greater or lesser, whatever the order of the two: -0 is less than +0,
  /// and a NaN wins.
  Value max(Value x, Value y, bool isUnsigned = false);
  Value min(Value x, Value y, bool isUnsigned = false);

  /// A float as the integer type `to` (of its element type's width, without a
  /// sign), rounded towards zero; what is beyond the least or greatest integer
  /// becomes that, a NaN 0.
  Value toInteger(Value x, Type to, bool isUnsigned);

  /// Lanes below `count`, a scalar index.
  Value maskBelow(Value count);
  Value maskBelow(int64_t count);
  /// Combines the lanes: 16 -> 8 -> 4 -> 2 -> 1, of sixteen.
  Value horizontal(Value x, llvm::function_ref<Value(Value, Value)> combine);
  /// Transposes as many vectors as each has lanes.
  void transpose(MutableArrayRef<Value> rows);

private:
  static Type scalar(Type type);
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LANES_H
