//===- CudaCode.cpp - what CUDA brings to a plan --------------------------===//

#include "codegen/cuda/CudaCode.h"

#include "codegen/cuda/Ptx.h"
#include "codegen/plan/PlanTypes.h"
#include "mlir/IR/Builders.h"
#include "runtime/device/cuda/FoldKernel.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

/// That its steps need: "cuBLASLt, cuDNN".
static std::string librariesOf(const plan::Plan &plan) {
  bool matmul = false, convolution = false;
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      matmul |= step.has_matmul();
      convolution |= step.has_convolution();
    }
  }
  return std::string(matmul ? "cuBLASLt" : "") +
         (matmul && convolution ? ", " : "") + (convolution ? "cuDNN" : "");
}

LogicalResult CudaCode::add(Operation *op, plan::Kernel &kernel) {
  FailureOr<CudaKernelInfo> info = kernels.add(op);
  if (failed(info)) {
    return failure();
  }
  kernel.set_symbol(info->symbol);
  kernel.set_scratch_bytes(uint64_t(info->scratchBytes));
  if (info->multiplied) {
    plan::Operations &products = *kernel.add_operations();
    products.set_type(planType(info->multiplied));
    products.set_multiply_adds(uint64_t(info->repeated));
  }
  for (const CudaLaunch &launch : info->launches) {
    plan::CudaLaunch &entry = *kernel.mutable_cuda()->add_launches();
    entry.set_symbol(launch.symbol);
    entry.set_grid(uint32_t(launch.grid));
    entry.set_block(uint32_t(launch.block));
  }
  return success();
}

void CudaCode::describe(plan::Plan &plan) const {
  plan::Target &device = *plan.add_devices();
  device.set_device("cuda");
  device.add_features(target.architecture);
  device.set_math_library(librariesOf(plan));
  if (!device.math_library().empty()) {
    device.set_allow_tf32(target.allowTf32);
  }
  device.set_fast_math(target.fastMath);
}

LogicalResult CudaCode::finish(plan::Plan &plan) {
  std::set<plan::ElementType> folded = zerograph::foldedWires(plan);
  Builder b(context);
  for (Type wire : {Type(b.getF32Type()), Type(b.getF64Type()),
                    Type(b.getBF16Type()), Type(b.getF16Type())}) {
    plan::ElementType type = planType(wire);
    if (folded.count(type)) {
      for (uint64_t width : zerograph::foldWidths(type)) {
        kernels.addFold(wire, int64_t(width),
                        zerograph::foldSymbol(type, width));
      }
    }
  }
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module = kernels.finish(llvmContext);
  if (!module) {
    return failure();
  }
  std::string error;
  FailureOr<std::string> text = cuda::toPtx(*module, target, error);
  if (failed(text)) {
    return emitError(UnknownLoc::get(context), error);
  }
  plan::Ptx &ptx = *plan.add_modules()->mutable_ptx();
  ptx.set_architecture(target.architecture);
  ptx.set_text(*text);
  return success();
}
