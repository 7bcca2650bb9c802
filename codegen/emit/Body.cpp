//===- Body.cpp - emitting the values of a kernel's op tree ---------------===//

#include "codegen/emit/Body.h"

#include "codegen/emit/Elementwise.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

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

Value Body::address(Node *leaf, const Chunk &chunk) {
  return address(rowPlaces.lookup(leaf).pointer, chunk.col, leaf->element);
}

Value Body::isResult(unsigned number) {
  auto integer = [&](Value pointer) -> Value {
    return lanes.b.create<LLVM::PtrToIntOp>(lanes.b.getI64Type(), pointer);
  };
  Value result = integer(resultPointer(0));
  return lanes.compare(arith::CmpIPredicate::eq,
                       integer(operandPointer(number)), result);
}

unsigned Body::alignmentOf(Type storage, int64_t together) const {
  unsigned bytes = storage.getIntOrFloatBitWidth() / 8;
  return std::max(bytes, unsigned(std::min(bytes * together, alignment)));
}

Value Body::load(Value pointer, Value offset, Type element, bool asVector,
                 Value mask, Value passThrough, int64_t together) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type storage = storageType(element);
  unsigned bytes = alignmentOf(storage, together);
  Value place = address(pointer, offset, element);
  Type type = asVector ? Type(lanes.vectorOf(storage)) : storage;
  bool isBool = element.isInteger(1);
  auto plain = [&]() -> Value {
    return b.create<LLVM::LoadOp>(type, place, bytes);
  };
  Value loaded;
  if (mask) {
    if (!passThrough) {
      passThrough = lanes.zero(type);
    } else if (isBool) {
      passThrough = b.create<arith::ExtUIOp>(type, passThrough);
    }
    auto where = [&] {
      return either(
          mask, type, [&] { return SmallVector<Value>{plain()}; },
          [&] { return SmallVector<Value>{passThrough}; })[0];
    };
    loaded = lanes.isVector(mask)
                 ? b.create<LLVM::MaskedLoadOp>(type, place, mask,
                                                ValueRange{passThrough}, bytes)
                 : where();
  } else {
    loaded = plain();
  }
  return isBool
             ? lanes.compare(arith::CmpIPredicate::ne, loaded, lanes.zero(type))
             : loaded;
}

Value Body::gather(Value pointer, Value offsets, Type element, Value mask,
                   Value passThrough) {
  if (lanes.width == 1) {
    return load(pointer, offsets, element, /*asVector=*/true, mask,
                passThrough);
  }
  ImplicitLocOpBuilder &b = lanes.b;
  Type storage = storageType(element);
  Type type = lanes.vectorOf(storage);
  Type pointers = LLVM::getFixedVectorType(pointer.getType(), lanes.width);
  Value addresses = b.create<LLVM::GEPOp>(pointers, storage, pointer,
                                          ArrayRef<LLVM::GEPArg>{offsets});
  bool isBool = element.isInteger(1);
  if (!passThrough) {
    passThrough = lanes.zero(type);
  } else if (isBool) {
    passThrough = b.create<arith::ExtUIOp>(type, passThrough);
  }
  if (!mask) {
    mask = lanes.maskBelow(lanes.width);
  }
  Value value = b.create<LLVM::masked_gather>(
      type, addresses, mask, ValueRange{passThrough},
      b.getI32IntegerAttr(storage.getIntOrFloatBitWidth() / 8));
  return isBool
             ? lanes.compare(arith::CmpIPredicate::ne, value, lanes.zero(type))
             : value;
}

void Body::store(Value pointer, Value offset, Value value, Value mask,
                 int64_t together) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type element = getElementTypeOrSelf(value);
  Value place = address(pointer, offset, element);
  Type storage = storageType(element);
  if (element.isInteger(1)) {
    value =
        b.create<arith::ExtUIOp>(lanes.like(value.getType(), storage), value);
  }
  unsigned bytes = alignmentOf(storage, together);
  if (mask && lanes.isVector(mask)) {
    b.create<LLVM::MaskedStoreOp>(value, place, mask, bytes);
    return;
  }
  auto plain = [&] { b.create<LLVM::StoreOp>(value, place, bytes); };
  mask ? when(mask, plain) : plain();
}

void Body::when(Value condition, llvm::function_ref<void()> emit) {
  ImplicitLocOpBuilder &b = lanes.b;
  auto branch = b.create<scf::IfOp>(condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emit();
}

SmallVector<Value>
Body::either(Value condition, TypeRange types,
             llvm::function_ref<SmallVector<Value>()> then,
             llvm::function_ref<SmallVector<Value>()> otherwise) {
  ImplicitLocOpBuilder &b = lanes.b;
  auto branch = b.create<scf::IfOp>(types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  b.create<scf::YieldOp>(then());
  b.setInsertionPointToStart(branch.elseBlock());
  b.create<scf::YieldOp>(otherwise());
  return SmallVector<Value>(branch.getResults());
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
