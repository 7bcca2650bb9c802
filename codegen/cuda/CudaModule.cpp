//===- CudaModule.cpp - kernels of a plan for CUDA ------------------------===//

#include "codegen/cuda/CudaModule.h"

#include "codegen/cuda/forms/FastMath.h"
#include "codegen/cuda/forms/Forms.h"
#include "codegen/emit/Kernel.h"
#include "codegen/emit/Lower.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "passes/schedule/InPlace.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace mlir::zg;

FailureOr<CudaKernelInfo> CudaModuleBuilder::emitForm(ImplicitLocOpBuilder &b,
                                                      nn::KernelOp kernel,
                                                      StringRef symbol) {
  switch (kernel.getForm()) {
  case nn::KernelForm::rows:
    return cuda::emitRows(b, kernel, symbol);
  case nn::KernelForm::columns:
    return cuda::emitColumns(b, kernel, symbol);
  case nn::KernelForm::scan:
    return cuda::emitScan(b, kernel, symbol);
  case nn::KernelForm::scatter:
    return cuda::emitScatter(b, kernel, symbol);
  case nn::KernelForm::attention:
    return cuda::emitAttention(b, kernel, symbol, tensorCores);
  }
  llvm_unreachable("every form has a case");
}

/// The blocks of a grid are numbered by 31 bits, and the parameters of a launch
/// have 4,352 bytes at most.
static LogicalResult checkLimits(Operation *op, const CudaKernelInfo &info) {
  constexpr int64_t kBlocks = std::numeric_limits<int32_t>::max();
  constexpr int64_t kPointers = 4352 / 8 - 1; // and one for scratch
  auto refuse = [&](int64_t needed, StringRef what, int64_t most) {
    return op->emitError("'")
           << nn::nameOf(op->getLoc()) << "': its kernel needs " << needed
           << " " << what << ", and CUDA has " << most;
  };
  int64_t buffers = op->getNumOperands() + op->getNumResults();
  if (buffers > kPointers) {
    return refuse(buffers, "operands and results", kPointers);
  }
  for (const CudaLaunch &launch : info.launches) {
    if (launch.grid > kBlocks) {
      return refuse(launch.grid, "blocks of threads", kBlocks);
    }
  }
  return success();
}

/// Marks the parameters of a launch whose storage no other one shares: the
/// operands on which no result may lie, and the results that may lie on none.
/// Loads of such operands then pass stores, as `ld.global.nc`.
static void markApart(LLVM::LLVMFuncOp function, Operation *op) {
  unsigned operands = op->getNumOperands();
  llvm::BitVector shared(operands + op->getNumResults());
  for (unsigned i = 0; i < operands; ++i) {
    for (unsigned j = 0; j < op->getNumResults(); ++j) {
      if (sched::canShareStorage(op, i, j)) {
        shared.set(i).set(operands + j);
      }
    }
  }
  using Dialect = LLVM::LLVMDialect;
  auto unit = UnitAttr::get(op->getContext());
  for (unsigned i = 0; i < shared.size(); ++i) {
    if (!shared[i]) {
      function.setArgAttr(i, Dialect::getNoAliasAttrName(), unit);
    }
    if (!shared[i] && i < operands) {
      function.setArgAttr(i, Dialect::getReadonlyAttrName(), unit);
    }
  }
}

CudaModuleBuilder::CudaModuleBuilder(MLIRContext *context, bool tensorCores,
                                     bool fastMath)
    : context(context), tensorCores(tensorCores), fastMath(fastMath) {
  emit::loadEmitDialects(context);
  context->loadDialect<NVVM::NVVMDialect>();
  registerNVVMDialectTranslation(*context);
  begin();
}

/// Begins a module, which says how functions in it are computed.
void CudaModuleBuilder::begin() {
  module = ModuleOp::create(UnknownLoc::get(context));
  if (fastMath) {
    (*module)->setAttr(cuda::kFastMathAttr, UnitAttr::get(context));
  }
  count = 0;
}

FailureOr<CudaKernelInfo> CudaModuleBuilder::add(Operation *op) {
  if (failed(emit::checkNotEmpty(op))) {
    return failure();
  }
  auto b = ImplicitLocOpBuilder::atBlockEnd(UnknownLoc::get(context),
                                            module->getBody());
  std::string symbol = emit::kernelSymbol(count++, op);
  auto matmul = dyn_cast<nn::MatmulOp>(op);
  FailureOr<CudaKernelInfo> info =
      matmul ? cuda::emitMatmul(b, matmul, symbol)
             : emitForm(b, cast<nn::KernelOp>(op), symbol);
  if (failed(info) || failed(checkLimits(op, *info))) {
    return failure();
  }
  for (const CudaLaunch &launch : info->launches) {
    markApart(module->lookupSymbol<LLVM::LLVMFuncOp>(launch.symbol), op);
  }
  info->symbol = symbol;
  return info;
}

void CudaModuleBuilder::addFold(Type wire, int64_t width, StringRef symbol) {
  auto b = ImplicitLocOpBuilder::atBlockEnd(UnknownLoc::get(context),
                                            module->getBody());
  cuda::emitFold(b, wire, width, symbol);
}

std::unique_ptr<llvm::Module>
CudaModuleBuilder::finish(llvm::LLVMContext &llvmContext) {
  OwningOpRef<ModuleOp> finished = std::move(module);
  begin();
  return emit::toLLVM(*finished, llvmContext,
                      NVVM::NVVMDialect::getDialectNamespace());
}
