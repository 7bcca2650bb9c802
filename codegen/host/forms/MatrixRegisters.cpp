//===- MatrixRegisters.cpp - products of bf16 by AMX ----------------------===//

#include "codegen/host/forms/MatrixRegisters.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

constexpr int64_t kRegisters = 8;
/// Counts the bytes of a row.
constexpr int64_t kRowBytes = 64;
/// Counts the bytes that LDTILECFG reads.
constexpr int64_t kConfigBytes = 64;
/// Says where among them the bytes of a row are, two for each register, and
/// where the rows, one for each.
constexpr int64_t kColumnBytesAt = 16, kRowsAt = 48;

} // namespace

void MatrixRegisters::call(StringRef intrinsic, ValueRange operands) {
  l.b.create<LLVM::CallIntrinsicOp>(TypeRange(), intrinsic, operands);
}

Value MatrixRegisters::numberOf(int64_t number) {
  return l.integer(l.b.getI8Type(), number);
}

void MatrixRegisters::configure() {
  Type byte = l.b.getI8Type();
  SmallVector<int64_t> bytes(kConfigBytes, 0);
  bytes[0] = 1; // the one palette there is
  for (int64_t number = 0; number < kRegisters; ++number) {
    bytes[kColumnBytesAt + 2 * number] = kRowBytes;
    bytes[kRowsAt + number] = kSide;
  }
  Value config = allocate(l, byte, kConfigBytes);
  for (auto [place, value] : llvm::enumerate(bytes)) {
    l.b.create<LLVM::StoreOp>(
        l.integer(byte, value),
        body.address(config, l.index(int64_t(place)), byte));
  }
  call("llvm.x86.ldtilecfg", config);
}

void MatrixRegisters::release() { call("llvm.x86.tilerelease", {}); }

void MatrixRegisters::load(int64_t number, Value address, int64_t apart) {
  call("llvm.x86.tileloadd64",
       {numberOf(number), address, l.integer(l.b.getI64Type(), apart)});
}

void MatrixRegisters::store(int64_t number, Value address, int64_t apart) {
  call("llvm.x86.tilestored64",
       {numberOf(number), address, l.integer(l.b.getI64Type(), apart)});
}

void MatrixRegisters::addProduct(int64_t sums, int64_t rows, int64_t columns) {
  call("llvm.x86.tdpbf16ps",
       {numberOf(sums), numberOf(rows), numberOf(columns)});
}
