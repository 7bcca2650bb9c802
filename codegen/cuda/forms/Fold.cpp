//===- Fold.cpp - the kernel that adds contributions up -------------------===//
//
// See runtime/device/cuda/FoldKernel.h.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/emit/Elementwise.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

void cuda::emitFold(ImplicitLocOpBuilder &b, Type wire, StringRef name) {
  OpBuilder::InsertionGuard guard(b);
  Type pointer = globalPointer(b.getContext()), i64 = b.getI64Type();
  LLVM::LLVMFuncOp kernel =
      beginKernel(b, name, {pointer, pointer, i64, i64, i64, i64});
  Lanes l(b, /*width=*/1);
  Value sums = kernel.getArgument(0), contributions = kernel.getArgument(1);
  Value stride = kernel.getArgument(2), count = kernel.getArgument(3);
  Value elements = kernel.getArgument(4), accumulate = kernel.getArgument(5);
  bool half = wire.isF16() || wire.isBF16();
  Type sent = emit::storageType(wire), added = half ? b.getF32Type() : wire;
  auto placeOf = [&](Value begin, Type element, Value offset) -> Value {
    return b.create<LLVM::GEPOp>(pointer, element, begin,
                                 ArrayRef<LLVM::GEPArg>{offset});
  };
  auto load = [&](Type element, Value place) -> Value {
    return b.create<LLVM::LoadOp>(element, place,
                                  element.getIntOrFloatBitWidth() / 8);
  };

  Value i = threadOfGrid(l);
  auto inside = b.create<scf::IfOp>(
      l.compare(arith::CmpIPredicate::slt, i, elements), /*withElse=*/false);
  b.setInsertionPointToStart(inside.thenBlock());
  Value place = placeOf(sums, added, i);
  auto first = b.create<scf::IfOp>(
      TypeRange{added},
      l.compare(arith::CmpIPredicate::ne, accumulate, l.index(0)),
      /*withElse=*/true);
  b.setInsertionPointToStart(first.thenBlock());
  b.create<scf::YieldOp>(load(added, place));
  b.setInsertionPointToStart(first.elseBlock());
  b.create<scf::YieldOp>(l.zero(added));
  b.setInsertionPointAfter(first);
  auto loop = b.create<scf::ForOp>(l.index(0), count, l.index(1),
                                   ValueRange{first.getResult(0)});
  b.setInsertionPointToStart(loop.getBody());
  Value offset = l.add(l.mul(loop.getInductionVar(), stride), i);
  Value value = load(sent, placeOf(contributions, sent, offset));
  value = half ? emit::emitFromHalf(l, wire, value) : value;
  Value sum = l.add(loop.getRegionIterArg(0), value);
  b.create<scf::YieldOp>(sum);
  b.setInsertionPointAfter(loop);
  b.create<LLVM::StoreOp>(loop.getResult(0), place,
                          added.getIntOrFloatBitWidth() / 8);
  b.setInsertionPointAfter(inside);
  b.create<LLVM::ReturnOp>(ValueRange());
}
