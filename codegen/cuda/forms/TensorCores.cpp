//===- TensorCores.cpp - products of 16 bits on tensor cores --------------===//

#include "codegen/cuda/forms/TensorCores.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

TensorCores::TensorCores(CudaBody &body, Type element)
    : body(body), l(body.lanes), isHalf(element.isF16()) {
  auto [ownWarp, lane] = l.divide(threadOfBlock(l), kWarp);
  warp = ownWarp;
  auto [group, place] = l.divide(lane, 4);
  ownRow = group;
  ownCol = l.mul(place, l.index(2));
  // ldmatrix takes the beginnings of 8 rows of 8 numbers from 8 threads, four
  // times.
  auto [high, low] = l.divide(lane, 16);
  tallRow = low;
  tallCol = l.mul(high, l.index(8));
  auto [second, row] = l.divide(low, 8);
  wideRow = l.add(row, l.mul(high, l.index(8)));
  wideCol = l.mul(second, l.index(8));
}

Value TensorCores::call(StringRef intrinsic, Type result, ValueRange operands) {
  return l.b.create<LLVM::CallIntrinsicOp>(result, intrinsic, operands)
      .getResult(0);
}

Value TensorCores::offsetOf(const SharedMatrix &matrix, Value row, Value col) {
  return l.add(l.mul(row, l.index(matrix.pitch)), col);
}

static LLVM::LLVMStructType structOf(Type element) {
  return LLVM::LLVMStructType::getLiteral(element.getContext(),
                                          SmallVector<Type>(4, element));
}

static SmallVector<Value, 4> membersOf(ImplicitLocOpBuilder &b, Value value) {
  SmallVector<Value, 4> members;
  for (int64_t i = 0; i < 4; ++i) {
    members.push_back(b.create<LLVM::ExtractValueOp>(value, i));
  }
  return members;
}

Fragment TensorCores::load(const SharedMatrix &matrix, Value offset,
                           bool transposed) {
  Value place =
      l.b.create<LLVM::GEPOp>(matrix.pointer.getType(), l.b.getI16Type(),
                              matrix.pointer, ArrayRef<LLVM::GEPArg>{offset});
  auto layout = transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  return membersOf(l.b, l.b.create<NVVM::LdMatrixOp>(structOf(l.b.getI32Type()),
                                                     place, 4, layout));
}

Fragment TensorCores::left(const SharedMatrix &matrix, Value row, int64_t col) {
  Value own = offsetOf(matrix, l.add(row, tallRow), tallCol);
  return load(matrix, l.add(own, l.index(col)), /*transposed=*/false);
}

Fragment TensorCores::left(ArrayRef<Value> sums) {
  ImplicitLocOpBuilder &b = l.b;
  Type pair = VectorType::get({2}, isHalf ? Type(b.getF16Type())
                                          : Type(b.getBF16Type()));
  Fragment words;
  for (int64_t i = 0; i < 2 * kSums; i += 2) {
    Value rounded =
        call(isHalf ? "llvm.nvvm.ff2f16x2.rn" : "llvm.nvvm.ff2bf16x2.rn", pair,
             {sums[i + 1], sums[i]});
    words.push_back(b.create<LLVM::BitcastOp>(b.getI32Type(), rounded));
  }
  return words;
}

Fragment TensorCores::rightByRows(const SharedMatrix &matrix, int64_t row,
                                  int64_t col) {
  Value own = offsetOf(matrix, wideRow, wideCol);
  return load(matrix, l.add(own, l.index(row * matrix.pitch + col)),
              /*transposed=*/false);
}

Fragment TensorCores::rightByColumns(const SharedMatrix &matrix, int64_t row,
                                     int64_t col) {
  Value own = offsetOf(matrix, tallRow, tallCol);
  return load(matrix, l.add(own, l.index(row * matrix.pitch + col)),
              /*transposed=*/true);
}

void TensorCores::multiply(const Fragment &left, const Fragment &right,
                           MutableArrayRef<Value> sums) {
  ImplicitLocOpBuilder &b = l.b;
  auto word = [&](Value value) -> Value {
    Type pair = VectorType::get({2}, b.getF16Type());
    return isHalf ? Value(b.create<LLVM::BitcastOp>(pair, value)) : value;
  };
  for (int64_t half = 0; half < 2; ++half) {
    SmallVector<Value, 10> operands;
    for (Value value : left) {
      operands.push_back(word(value));
    }
    operands.push_back(word(right[half * 2]));
    operands.push_back(word(right[half * 2 + 1]));
    MutableArrayRef<Value> own = sums.slice(half * kSums, kSums);
    llvm::append_range(operands, own);
    Value result = call(isHalf ? "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
                               : "llvm.nvvm.mma.m16n8k16.row.col.bf16",
                        structOf(b.getF32Type()), operands);
    llvm::copy(membersOf(b, result), own.begin());
  }
}

void TensorCores::copy(Value to, Value from, Value inside) {
  SmallVector<Value, 3> operands = {to, from};
  std::string name = "llvm.nvvm.cp.async.cg.shared.global.16";
  if (inside) {
    Type i32 = l.b.getI32Type();
    operands.push_back(
        l.select(inside, l.integer(i32, kAccessBytes), l.integer(i32, 0)));
    name += ".s";
  }
  l.b.create<LLVM::CallIntrinsicOp>(TypeRange(), name, operands);
}

void TensorCores::finishCopies() {
  l.b.create<LLVM::CallIntrinsicOp>(
      TypeRange(), StringRef("llvm.nvvm.cp.async.wait.all"), ValueRange());
}
