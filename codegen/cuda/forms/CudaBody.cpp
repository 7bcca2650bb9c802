//===- CudaBody.cpp - the function of a kernel on CUDA --------------------===//

#include "codegen/cuda/forms/CudaBody.h"

#include "codegen/cuda/forms/FastMath.h"
#include "codegen/cuda/forms/Forms.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

/// LLVM's number for the memory that every thread reaches.
static constexpr unsigned kGlobalMemory = 1;
/// And for the memory that the threads of a block share.
static constexpr unsigned kSharedMemory = 3;
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
                                   ArrayRef<Type> parameters, int64_t block) {
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), parameters);
  auto kernel = b.create<LLVM::LLVMFuncOp>(name, type);
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  b.getDenseI32ArrayAttr({int32_t(block)}));
  b.setInsertionPointToStart(kernel.addEntryBlock(b));
  return kernel;
}

CudaBody::Function CudaBody::beginFunction(ImplicitLocOpBuilder &b,
                                           Operation *op, StringRef name,
                                           const Threads &threads) {
  unsigned buffers = op->getNumOperands() + op->getNumResults();
  SmallVector<Type> parameters(buffers + threads.scratch,
                               globalPointer(b.getContext()));
  Function result;
  result.results = op->getNumResults();
  result.op = beginKernel(b, name, parameters, threads.block);
  if (threads.blocksAtLeast > 0) {
    result.op->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                       b.getI32IntegerAttr(threads.blocksAtLeast));
  }
  auto arguments = result.op->getRegion(0).getArguments();
  result.buffers.assign(arguments.begin(), arguments.begin() + buffers);
  result.scratch = threads.scratch ? Value(arguments.back()) : Value();
  return result;
}

const Approximation *CudaBody::approximationOf(ImplicitLocOpBuilder &b) {
  auto module = b.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  return module->hasAttr(kFastMathAttr) ? &fastMath() : nullptr;
}

/// With room for what loops and the last block of a grid count beyond the end.
unsigned CudaBody::indexBitsOf(Operation *op, const Graph &graph) {
  constexpr int64_t kMost = (int64_t(1) << 31) - (1 << 16);
  int64_t reach = graph.reach();
  auto add = [&](TypeRange types) {
    for (Type type : types) {
      auto tensor = cast<RankedTensorType>(type);
      reach = std::max(reach, nn::tensorBytes(tensor) /
                                  nn::elementBytes(tensor.getElementType()));
    }
  };
  add(op->getOperandTypes());
  add(op->getResultTypes());
  return reach < kMost ? 32 : 64;
}

// Neither has 32 bits: a grid has fewer than 2^31 blocks.
Value cuda::blockOfGrid(Lanes &lanes) {
  return lanes.toIndex(lanes.b.create<NVVM::BlockIdXOp>(lanes.b.getI32Type()));
}

Value cuda::threadOfBlock(Lanes &lanes) {
  return lanes.toIndex(lanes.b.create<NVVM::ThreadIdXOp>(lanes.b.getI32Type()));
}

Value cuda::threadOfGrid(Lanes &lanes, int64_t block) {
  return lanes.add(lanes.mul(blockOfGrid(lanes), lanes.index(block)),
                   threadOfBlock(lanes));
}

void CudaBody::forItem(int64_t items, llvm::function_ref<void(Value)> emit) {
  Value item = threadOfGrid(lanes, threads.block);
  when(lanes.compare(arith::CmpIPredicate::slt, item, lanes.index(items)), [&] {
    enterKernel();
    emit(item);
  });
}

void CudaBody::forSingle(int64_t lo, int64_t hi,
                         llvm::function_ref<void(Body &, Value)> emit) {
  Value item = threadOfGrid(lanes, threads.block);
  Value inside = lanes.logicalAnd(
      lanes.compare(arith::CmpIPredicate::sge, item, lanes.index(lo)),
      lanes.compare(arith::CmpIPredicate::slt, item, lanes.index(hi)));
  when(inside, [&] {
    Body single(*this, graph, /*width=*/1);
    single.enterKernel();
    emit(single, item);
  });
}

// A warp's number from the block's: the thread's in the grid might be too
// large.
void CudaBody::forWarp(int64_t items,
                       llvm::function_ref<void(Value, Value)> emit) {
  auto [warp, lane] = lanes.divide(threadOfBlock(lanes), kWarp);
  Value first =
      lanes.mul(blockOfGrid(lanes), lanes.index(threads.block / kWarp));
  Value item = lanes.add(first, warp);
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

Value CudaBody::shuffleXor(Value value, int32_t bit) {
  ImplicitLocOpBuilder &b = lanes.b;
  if (!Lanes::isVector(value)) {
    return shuffleElement(value, bit);
  }
  Value shuffled = value;
  for (int64_t lane = 0; lane < lanes.width; ++lane) {
    Value own = b.create<vector::ExtractOp>(value, lane);
    shuffled =
        b.create<vector::InsertOp>(shuffleElement(own, bit), shuffled, lane);
  }
  return shuffled;
}

// Words of 32 bits are what a warp exchanges.
Value CudaBody::shuffleElement(Value value, int32_t bit) {
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

void CudaBody::syncBlock() { lanes.b.create<NVVM::Barrier0Op>(); }

Value CudaBody::declareArray(StringRef name, Type element, int64_t count,
                             unsigned space, bool zeros) {
  ImplicitLocOpBuilder &b = lanes.b;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(function.op);
  Type stored = storageType(element);
  Attribute value;
  if (zeros) {
    value = b.getZeroAttr(RankedTensorType::get(count, stored));
  }
  auto array = b.create<LLVM::GlobalOp>(
      LLVM::LLVMArrayType::get(stored, unsigned(count)), /*isConstant=*/false,
      LLVM::Linkage::Internal, name, value,
      /*alignment=*/uint64_t(kAccessBytes), space);
  b.setInsertionPointToStart(&function.op->getRegion(0).front());
  return b.create<LLVM::AddressOfOp>(array);
}

Value CudaBody::declareShared(StringRef name, Type element, int64_t count) {
  return declareArray(name, element, count, kSharedMemory, /*zeros=*/false);
}

Value CudaBody::isLastBlock(StringRef name, Value number, int64_t numbers,
                            int64_t blocks) {
  ImplicitLocOpBuilder &b = lanes.b;
  Type i32 = b.getI32Type();
  Value last = lanes.integer(i32, blocks - 1);
  if (blocks == 1) {
    syncBlock();
    return lanes.integer(b.getI1Type(), 1);
  }
  Value counters = declareArray((name + "_arrived").str(), i32, numbers,
                                kGlobalMemory, /*zeros=*/true);
  Value before = declareShared((name + "_before").str(), i32, 1);
  auto fence = [&] {
    b.create<LLVM::CallIntrinsicOp>(
        TypeRange(), StringRef("llvm.nvvm.membar.gl"), ValueRange());
  };
  // One thread's fence holds for the block, which the barriers join to it.
  syncBlock();
  Value first = lanes.compare(arith::CmpIPredicate::eq, threadOfBlock(lanes),
                              lanes.index(0));
  when(first, [&] {
    fence();
    Value counter = address(counters, number, i32);
    Value arrived = b.create<LLVM::CallIntrinsicOp>(
                         i32, StringRef("llvm.nvvm.atomic.load.inc.32"),
                         ValueRange{counter, last})
                        .getResult(0);
    fence();
    b.create<LLVM::StoreOp>(arrived, before);
  });
  syncBlock();
  Value arrived = b.create<LLVM::LoadOp>(i32, before);
  return b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, arrived, last);
}

void CudaBody::finish() {
  lanes.b.create<LLVM::ReturnOp>(ValueRange());
  lanes.b.setInsertionPointAfter(function.op);
}
