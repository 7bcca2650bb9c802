//===- Fold.h - functions of constants, element by element ----------------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_FOLD_H
#define ZEROGRAPH_FRONTEND_OPS_FOLD_H

#include "frontend/base/Error.h"
#include "frontend/base/HostTensor.h"

#include "passes/ir/nn/NNDialect.h"

namespace zerograph::frontend {

/// f applied to each element, in the domain of x; the result has `type`.
template <typename FInt, typename FFloat>
HostTensor foldUnary(const HostTensor &x, int32_t type, FInt onInt,
                     FFloat onFloat) {
  auto apply = [&](HostTensor &result, int64_t i) {
    if (x.isFloat()) {
      result.setFloat(i, onFloat(x.floatAt(i)));
    } else {
      result.setInt(i, onInt(x.intAt(i)));
    }
  };
  if (x.isSplat()) {
    HostTensor result = HostTensor::splat(type, x.shape(), 0);
    apply(result, 0);
    return result;
  }
  HostTensor result(type, x.shape());
  for (int64_t i = 0; i < x.size(); ++i) {
    apply(result, i);
  }
  return result;
}

/// f applied to each pair of elements, with broadcasting.
template <typename FInt, typename FFloat>
HostTensor foldBinary(const HostTensor &x, const HostTensor &y, int32_t type,
                      FInt onInt, FFloat onFloat) {
  if (x.type() != y.type()) {
    fail("operand types ", typeName(x.type()), " and ", typeName(y.type()),
         " differ");
  }
  Shape shape = broadcastShapes(x.shape(), y.shape());
  HostTensor left = broadcastTo(x, shape), right = broadcastTo(y, shape);
  bool splat = left.isSplat() && right.isSplat();
  HostTensor result =
      splat ? HostTensor::splat(type, shape, 0) : HostTensor(type, shape);
  int64_t count = splat ? 1 : result.size();
  for (int64_t i = 0; i < count; ++i) {
    if (x.isFloat()) {
      result.setFloat(i, onFloat(left.floatAt(i), right.floatAt(i)));
    } else {
      result.setInt(i, onInt(left.intAt(i), right.intAt(i)));
    }
  }
  return result;
}

/// Computes a function of two constants, with broadcasting, in the type of x.
HostTensor foldPair(mlir::zg::nn::BinaryKind kind, const HostTensor &x,
                    const HostTensor &y);

/// Sum of integers modulo 2^64.
inline int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}
inline int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) *
                              static_cast<uint64_t>(b));
}

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_FOLD_H
