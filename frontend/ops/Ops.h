//===- Ops.h - the tables of operators, and what their files share --------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_OPS_H
#define ZEROGRAPH_FRONTEND_OPS_OPS_H

#include "frontend/walk/Op.h"

#include "llvm/ADT/ArrayRef.h"

namespace zerograph::frontend {

// One table a family; findOp searches them all.
llvm::ArrayRef<OpDef> elementwiseOps();
llvm::ArrayRef<OpDef> activationOps();
llvm::ArrayRef<OpDef> logicOps();
llvm::ArrayRef<OpDef> shapeOps();
llvm::ArrayRef<OpDef> layoutOps();
llvm::ArrayRef<OpDef> constantOps();
llvm::ArrayRef<OpDef> reduceOps();
llvm::ArrayRef<OpDef> matmulOps();
llvm::ArrayRef<OpDef> normOps();
llvm::ArrayRef<OpDef> lossOps();
llvm::ArrayRef<OpDef> indexOps();
llvm::ArrayRef<OpDef> sequenceOps();
llvm::ArrayRef<OpDef> scatterOps();
llvm::ArrayRef<OpDef> orderOps();
llvm::ArrayRef<OpDef> einsumOps();
llvm::ArrayRef<OpDef> trigonometryOps();
llvm::ArrayRef<OpDef> convolutionOps();
llvm::ArrayRef<OpDef> controlFlowOps();
llvm::ArrayRef<OpDef> gridSampleOps();
llvm::ArrayRef<OpDef> batchNormOps();
llvm::ArrayRef<OpDef> bitsOps();
llvm::ArrayRef<OpDef> imageOps();
llvm::ArrayRef<OpDef> resizeOps();
llvm::ArrayRef<OpDef> poolOps();
llvm::ArrayRef<OpDef> randomOps();
llvm::ArrayRef<OpDef> recurrentOps();

/// Fails unless the inputs first to last hold one number a channel.
void checkPerChannel(Op &op, int first, int last, int64_t channels);

/// `indices` into `size` elements, none negative: those below 0 count from the
/// end. Constant ones (`host`) are checked, those of an input noted to be
/// checked when it is read; computed ones go to the nearest element where they
/// are outside.
mlir::Value indexInto(Op &op, mlir::Value indices, const HostTensor *host,
                      int64_t size);
/// For indices into one axis of `data`, element by element: the row-major
/// number of the element that each one means.
mlir::Value elementNumber(Emitter &emit, mlir::Value index, const Shape &data,
                          int64_t axis);
/// Number k of the last dim of input 1, as indexInto gives it.
mlir::Value indexColumn(Op &op, int64_t k, int64_t size);

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

#endif // ZEROGRAPH_FRONTEND_OPS_OPS_H
