//===- FastMath.cpp - functions by the special function units -------------===//

#include "codegen/cuda/forms/FastMath.h"

#include "codegen/cuda/forms/Together.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

class FastMath final : public emit::Approximation {
public:
  Value power(Lanes &l, Value x) const override {
    return call(l, "llvm.nvvm.ex2.approx.ftz.f", x);
  }
  Value reciprocal(Lanes &l, Value x) const override {
    return call(l, "llvm.nvvm.rcp.approx.ftz.f", x);
  }

private:
  static Value call(Lanes &l, StringRef intrinsic, Value x) {
    SmallVector<Value> results;
    for (Value element : elementsOf(l, x)) {
      auto one = l.b.create<LLVM::CallIntrinsicOp>(element.getType(), intrinsic,
                                                   element);
      results.push_back(one.getResult(0));
    }
    return joined(l, results);
  }
};

} // namespace

const emit::Approximation &cuda::fastMath() {
  static const FastMath fast;
  return fast;
}
