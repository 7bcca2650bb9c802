//===- Body.cpp - emitting the values of a kernel's op tree ---------------===//

#include "codegen/host/emit/Body.h"

#include "codegen/host/emit/Elementwise.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

Body::Body(ImplicitLocOpBuilder &builder, Operation *op, Graph &graph,
           StringRef name)
    : lanes(builder), graph(graph), resultCount(op->getNumResults()) {
  ImplicitLocOpBuilder &b = lanes.b;
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto function =
      b.create<func::FuncOp>(name, b.getFunctionType({pointer, i64, i64}, {}));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  for (unsigned i = 0; i < op->getNumOperands() + resultCount; ++i) {
    Value slot =
        b.create<LLVM::GEPOp>(pointer, pointer, entry->getArgument(0),
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    pointers.push_back(b.create<LLVM::LoadOp>(pointer, slot));
  }
  begin = entry->getArgument(1);
  end = entry->getArgument(2);
}

void Body::finish() { lanes.b.create<func::ReturnOp>(); }

Value Body::basePointer(Value base) {
  if (auto argument = dyn_cast<BlockArgument>(base)) {
    return pointers[argument.getArgNumber()];
  }
  return constantPointers.lookup(base);
}

Value Body::address(Value pointer, Value offset, Type element) {
  return lanes.b.create<LLVM::GEPOp>(pointer.getType(), storageType(element),
                                     pointer, ArrayRef<LLVM::GEPArg>{offset});
}

Value Body::load(Value pointer, Value offset, Type element, bool asVector,
                 Value mask, Value passThrough) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type storage = storageType(element);
  unsigned bytes = storage.getIntOrFloatBitWidth() / 8;
  Value where = address(pointer, offset, element);
  Type type = asVector ? Type(lanes.vectorOf(storage)) : storage;
  bool isBool = element.isInteger(1);
  Value loaded;
  if (mask) {
    if (!passThrough) {
      passThrough = lanes.zero(type);
    } else if (isBool) {
      passThrough = b.create<arith::ExtUIOp>(type, passThrough);
    }
    loaded = b.create<LLVM::MaskedLoadOp>(type, where, mask,
                                          ValueRange{passThrough}, bytes);
  } else {
    loaded = b.create<LLVM::LoadOp>(type, where, bytes);
  }
  return isBool
             ? lanes.compare(arith::CmpIPredicate::ne, loaded, lanes.zero(type))
             : loaded;
}

Value Body::gather(Value pointer, Value offsets, Type element, Value mask,
                   Value passThrough) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type storage = storageType(element);
  auto type = lanes.vectorOf(storage);
  Type pointers = LLVM::getFixedVectorType(pointer.getType(), kLanes);
  Value addresses = b.create<LLVM::GEPOp>(pointers, storage, pointer,
                                          ArrayRef<LLVM::GEPArg>{offsets});
  bool isBool = element.isInteger(1);
  if (!passThrough) {
    passThrough = lanes.zero(type);
  } else if (isBool) {
    passThrough = b.create<arith::ExtUIOp>(type, passThrough);
  }
  if (!mask) {
    mask = lanes.maskBelow(kLanes);
  }
  Value value = b.create<LLVM::masked_gather>(
      type, addresses, mask, ValueRange{passThrough},
      b.getI32IntegerAttr(storage.getIntOrFloatBitWidth() / 8));
  return isBool
             ? lanes.compare(arith::CmpIPredicate::ne, value, lanes.zero(type))
             : value;
}

void Body::store(Value pointer, Value offset, Value value, Value mask) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type element = getElementTypeOrSelf(value);
  Value where = address(pointer, offset, element);
  Type storage = storageType(element);
  if (element.isInteger(1)) {
    value =
        b.create<arith::ExtUIOp>(lanes.like(value.getType(), storage), value);
  }
  unsigned bytes = storage.getIntOrFloatBitWidth() / 8;
  if (mask) {
    b.create<LLVM::MaskedStoreOp>(value, where, mask, bytes);
  } else {
    b.create<LLVM::StoreOp>(value, where, bytes);
  }
}

SmallVector<Value>
Body::loop(Value lo, Value hi, int64_t step, ValueRange carried,
           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  ImplicitLocOpBuilder &b = lanes.b;
  auto loop = b.create<scf::ForOp>(lo, hi, lanes.index(step), carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!results.empty()) {
    b.create<scf::YieldOp>(results);
  }
  return SmallVector<Value>(loop.getResults());
}
