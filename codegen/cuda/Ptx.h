//===- Ptx.h - LLVM's code as PTX -----------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_PTX_H
#define ZEROGRAPH_CODEGEN_CUDA_PTX_H

#include "codegen/cuda/CudaTarget.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir::zg::cuda {

/// The PTX of a module of kernels, whose data layout and triple become those of
/// the target. `error` says why there is none.
FailureOr<std::string> toPtx(llvm::Module &module, const CudaTarget &target,
                             std::string &error);

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_PTX_H
