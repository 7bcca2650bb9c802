//===- CudaModule.h - kernels of a plan for CUDA --------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_CUDAMODULE_H
#define ZEROGRAPH_CODEGEN_CUDA_CUDAMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/ir/nn/NNDialect.h"

#include <memory>
#include <string>

namespace mlir {
class ImplicitLocOpBuilder;
} // namespace mlir

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir::zg {

/// One launch of a kernel: a grid of blocks of threads, both of one dimension.
/// Its parameters are the addresses of the kernel's operands, then of its
/// results, then of its scratch if it has any.
struct CudaLaunch {
  std::string symbol;
  int64_t grid = 1;
  int64_t block = 1;
};

/// A kernel as the runtime launches it. Buffers are contiguous and row-major,
/// an i1 in a byte. A result may lie exactly on an operand of the same element
/// type that is read elementwise; otherwise buffers do not overlap.
struct CudaKernelInfo {
  std::string symbol;
  /// One after the other.
  SmallVector<CudaLaunch, 2> launches;
  /// Bytes that a launch leaves for the next.
  int64_t scratchBytes = 0;
  /// The type of 16 bits that tensor cores multiply in it; null: they do not.
  Type multiplied = {};
  /// Counts the products of two numbers that its blocks repeat.
  int64_t repeated = 0;
};

/// Collects kernels in one module.
class CudaModuleBuilder {
public:
  /// Loads the dialects that code generation needs into the context.
  /// `tensorCores`: attention in 16 bits may have other bits than the host's.
  /// `fastMath`: so may exponentials and reciprocals of f32.
  explicit CudaModuleBuilder(MLIRContext *context, bool tensorCores = false,
                             bool fastMath = false);

  /// Emits an nn.kernel, or an nn.matmul as fma chains in the order of k. Each
  /// call gives other symbols. Errors are reported on the op.
  FailureOr<CudaKernelInfo> add(Operation *op);

  /// Emits the kernel that adds contributions of this type up, by threads of
  /// `width` elements; see runtime/device/cuda/FoldKernel.h.
  void addFold(Type wire, int64_t width, StringRef symbol);

  /// Returns all kernels as LLVM's code, before a target is chosen. Null on an
  /// error, which was reported. The builder is empty afterwards.
  std::unique_ptr<llvm::Module> finish(llvm::LLVMContext &context);

private:
  FailureOr<CudaKernelInfo> emitForm(ImplicitLocOpBuilder &b,
                                     nn::KernelOp kernel, StringRef symbol);

  void begin();

  MLIRContext *context;
  bool tensorCores, fastMath;
  OwningOpRef<ModuleOp> module;
  unsigned count = 0;
};

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_CUDA_CUDAMODULE_H
