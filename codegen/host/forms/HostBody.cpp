//===- HostBody.cpp - the function of a kernel on the host ----------------===//

#include "codegen/host/forms/HostBody.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

HostBody::Function HostBody::beginFunction(ImplicitLocOpBuilder &b,
                                           Operation *op, StringRef name) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto function =
      b.create<func::FuncOp>(name, b.getFunctionType({pointer, i64, i64}, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  Function result;
  for (unsigned i = 0; i < op->getNumOperands() + op->getNumResults(); ++i) {
    Value slot =
        b.create<LLVM::GEPOp>(pointer, pointer, entry->getArgument(0),
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    result.buffers.push_back(b.create<LLVM::LoadOp>(pointer, slot));
  }
  result.begin = entry->getArgument(1);
  result.end = entry->getArgument(2);
  return result;
}

Value host::allocate(Lanes &lanes, Type storage, int64_t elements) {
  return lanes.b.create<LLVM::AllocaOp>(
      LLVM::LLVMPointerType::get(lanes.b.getContext()), storage,
      lanes.index(elements), /*alignment=*/64);
}

void HostBody::finish() { lanes.b.create<func::ReturnOp>(); }
