//===- CumSum.cpp - running sums ------------------------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

int64_t cumsumAxis(Op &op) {
  return normalizeAxis(op.constantInt(1, "axis"), op.shape(0).size());
}

void emitCumSum(Op &op) {
  Value x = op.value(0);
  op.set(0, op.emit.builder.create<nn::CumsumOp>(
                op.emit.location, x.getType(), x, cumsumAxis(op),
                op.intAttribute("exclusive", 0) != 0,
                op.intAttribute("reverse", 0) != 0));
}

void foldCumSum(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  int64_t axis = cumsumAxis(op), size = x.shape()[axis];
  bool exclusive = op.intAttribute("exclusive", 0) != 0;
  bool reverse = op.intAttribute("reverse", 0) != 0;
  int64_t stride = rowMajor(x.shape())[axis];
  Shape lines = x.shape();
  lines[axis] = 1;
  HostTensor result(x.type(), x.shape());
  forEach(lines, rowMajor(x.shape()), [&](int64_t, int64_t base) {
    int64_t integer = 0;
    double number = 0;
    for (int64_t k = 0; k < size; ++k) {
      int64_t at = base + (reverse ? size - 1 - k : k) * stride;
      int64_t nextInteger = wrapAdd(integer, x.intAt(at));
      double nextNumber = roundTo(x.isFloat() ? x.type() : TensorProto::DOUBLE,
                                  number + x.floatAt(at));
      if (x.isFloat()) {
        result.setFloat(at, exclusive ? number : nextNumber);
      } else {
        result.setInt(at, exclusive ? integer : nextInteger);
      }
      integer = nextInteger;
      number = nextNumber;
    }
  });
  op.set(0, result);
}

const OpDef kOps[] = {
    {"CumSum", 11, emitCumSum, foldCumSum, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> cumSumOps() { return kOps; }

} // namespace zerograph::frontend
