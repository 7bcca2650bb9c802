//===- CudaBody.cpp - the function of a kernel on CUDA --------------------===//

#include "codegen/cuda/forms/CudaBody.h"

#include "codegen/cuda/forms/Forms.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

/// LLVM's number for the memory that every thread reaches.
static constexpr unsigned kGlobalMemory = 1;
static constexpr int64_t kWholeWarp = -1;

CudaLaunch cuda::launchOver(StringRef symbol, int64_t items) {
  return {symbol.str(), int64_t(llvm::divideCeil(items, kBlock)), kBlock};
}

CudaLaunch cuda::launchOverWarps(StringRef symbol, int64_t items) {
  return launchOver(symbol, items * kWarp);
}

CudaKernelInfo cuda::onlyLaunch(CudaLaunch launch) {
  CudaKernelInfo info;
  info.launches.push_back(std::move(launch));
  return info;
}

Type cuda::globalPointer(MLIRContext *context) {
  return LLVM::LLVMPointerType::get(context, kGlobalMemory);
}

LLVM::LLVMFuncOp cuda::beginKernel(ImplicitLocOpBuilder &b, StringRef name,
                                   ArrayRef<Type> parameters) {
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), parameters);
  auto kernel = b.create<LLVM::LLVMFuncOp>(name, type);
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  b.getDenseI32ArrayAttr({int32_t(kBlock)}));
  b.setInsertionPointToStart(kernel.addEntryBlock(b));
  return kernel;
}

CudaBody::Function CudaBody::beginFunction(ImplicitLocOpBuilder &b,
                                           Operation *op, StringRef name,
                                           bool hasScratch) {
  unsigned buffers = op->getNumOperands() + op->getNumResults();
  SmallVector<Type> parameters(buffers + hasScratch,
                               globalPointer(b.getContext()));
  Function result;
  result.op = beginKernel(b, name, parameters);
  auto arguments = result.op.getArguments();
  result.buffers.assign(arguments.begin(), arguments.begin() + buffers);
  result.scratch = hasScratch ? Value(arguments.back()) : Value();
  return result;
}

Value cuda::threadOfGrid(Lanes &lanes) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value block = b.create<arith::ExtUIOp>(i64, b.create<NVVM::BlockIdXOp>(i32));
  Value thread =
      b.create<arith::ExtUIOp>(i64, b.create<NVVM::ThreadIdXOp>(i32));
  return lanes.add(lanes.mul(block, lanes.index(kBlock)), thread);
}

void CudaBody::forItem(int64_t items, llvm::function_ref<void(Value)> emit) {
  Value item = threadOfGrid(lanes);
  when(lanes.compare(arith::CmpIPredicate::slt, item, lanes.index(items)), [&] {
    enterKernel();
    emit(item);
  });
}

void CudaBody::forWarp(int64_t items,
                       llvm::function_ref<void(Value, Value)> emit) {
  ImplicitLocOpBuilder &b = lanes.b;
  Value thread = threadOfGrid(lanes);
  Value item = b.create<arith::DivUIOp>(thread, lanes.index(kWarp));
  Value lane = b.create<arith::RemUIOp>(thread, lanes.index(kWarp));
  when(lanes.compare(arith::CmpIPredicate::slt, item, lanes.index(items)), [&] {
    enterKernel();
    emit(item, lane);
  });
}

Value CudaBody::shuffleWord(Value word, int32_t bit) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type i32 = b.getI32Type();
  return b.create<NVVM::ShflOp>(
      i32, lanes.integer(i32, kWholeWarp), word, lanes.integer(i32, bit),
      lanes.integer(i32, kWarp - 1), NVVM::ShflKind::bfly, UnitAttr());
}

// Words of 32 bits are what a warp exchanges.
Value CudaBody::shuffleXor(Value value, int32_t bit) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type type = value.getType(), i32 = b.getI32Type();
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = b.getIntegerType(width);
  bool isFloat = isa<FloatType>(type);
  Value whole =
      isFloat ? Value(b.create<arith::BitcastOp>(bits, value)) : value;
  if (width < 32) {
    Value word = shuffleWord(b.create<arith::ExtUIOp>(i32, whole), bit);
    whole = b.create<arith::TruncIOp>(bits, word);
  } else if (width == 32) {
    whole = shuffleWord(whole, bit);
  } else {
    Value half = lanes.integer(bits, 32);
    Value low = b.create<arith::TruncIOp>(i32, whole);
    Value high =
        b.create<arith::TruncIOp>(i32, b.create<arith::ShRUIOp>(whole, half));
    low = b.create<arith::ExtUIOp>(bits, shuffleWord(low, bit));
    high = b.create<arith::ExtUIOp>(bits, shuffleWord(high, bit));
    whole = b.create<arith::OrIOp>(low, b.create<arith::ShLIOp>(high, half));
  }
  return isFloat ? Value(b.create<arith::BitcastOp>(type, whole)) : whole;
}

Value CudaBody::ballot(Value condition) {
  Type i32 = lanes.b.getI32Type();
  return lanes.b.create<NVVM::VoteBallotOp>(i32, lanes.integer(i32, kWholeWarp),
                                            condition);
}

void CudaBody::syncWarp() {
  lanes.b.create<NVVM::SyncWarpOp>(
      lanes.integer(lanes.b.getI32Type(), kWholeWarp));
}

void CudaBody::finish() {
  lanes.b.create<LLVM::ReturnOp>(ValueRange());
  lanes.b.setInsertionPointAfter(function);
}
