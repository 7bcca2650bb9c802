//===- PairsOfBf16.cpp - products of numbers of 16 bits, two at a time ----===//

#include "codegen/host/forms/PairsOfBf16.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

Value PairsOfBf16::call(StringRef intrinsic, Type result, ValueRange operands) {
  return l.b.create<LLVM::CallIntrinsicOp>(result, intrinsic, operands)
      .getResult(0);
}

Value PairsOfBf16::round(Value lanes) {
  return call("llvm.x86.avx512bf16.cvtneps2bf16.512",
              VectorType::get({16}, l.b.getBF16Type()), lanes);
}

void PairsOfBf16::storeRow(Value address, Value lanes) {
  l.b.create<LLVM::StoreOp>(round(lanes), address, /*alignment=*/32);
}

Value PairsOfBf16::join(Value first, Value second) {
  Value rounded = call("llvm.x86.avx512bf16.cvtne2ps2bf16.512",
                       VectorType::get({32}, l.b.getBF16Type()),
                       {second, first}); // first in the lower half
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < 16; ++lane) {
    order.append({lane, 16 + lane});
  }
  Value bits = l.b.create<LLVM::BitcastOp>(
      VectorType::get({32}, l.b.getI16Type()), rounded);
  return l.b.create<LLVM::BitcastOp>(
      l.vectorOf(l.b.getI32Type()),
      l.b.create<vector::ShuffleOp>(bits, bits, order));
}

Value PairsOfBf16::addDot(Value sum, Value left, Value right) {
  Type halves = VectorType::get({32}, l.b.getBF16Type());
  auto cast = [&](Value pairs) -> Value {
    return l.b.create<LLVM::BitcastOp>(halves, pairs);
  };
  return call("llvm.x86.avx512bf16.dpbf16ps.512", sum.getType(),
              {sum, cast(left), cast(right)});
}
