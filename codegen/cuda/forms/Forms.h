//===- Forms.h - the launches of each form of kernel ----------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_FORMS_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_FORMS_H

#include "codegen/cuda/CudaModule.h"
#include "codegen/cuda/forms/CudaBody.h"

namespace mlir::zg::cuda {

/// Each emits its functions at the builder, or an error that names the op.
FailureOr<CudaKernelInfo> emitRows(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                                   StringRef name);
FailureOr<CudaKernelInfo> emitColumns(ImplicitLocOpBuilder &b,
                                      nn::KernelOp kernel, StringRef name);
FailureOr<CudaKernelInfo> emitScan(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                                   StringRef name);
FailureOr<CudaKernelInfo> emitScatter(ImplicitLocOpBuilder &b,
                                      nn::KernelOp kernel, StringRef name);
FailureOr<CudaKernelInfo> emitAttention(ImplicitLocOpBuilder &b,
                                        nn::KernelOp kernel, StringRef name,
                                        bool tensorCores);
FailureOr<CudaKernelInfo> emitMatmul(ImplicitLocOpBuilder &b,
                                     nn::MatmulOp matmul, StringRef name);

/// Emits the fold of contributions of type `wire`, by threads of `width`
/// elements; see runtime/device/cuda/FoldKernel.h.
void emitFold(ImplicitLocOpBuilder &b, Type wire, int64_t width,
              StringRef name);

/// Returns the bytes that launches of a kernel, or blocks of one, leave for
/// others.
FailureOr<int64_t> columnsScratchBytes(nn::KernelOp kernel);
FailureOr<int64_t> scatterScratchBytes(nn::KernelOp kernel);

/// A launch with a thread for each of `items`.
CudaLaunch launchOver(StringRef symbol, int64_t items);
/// With a warp for each.
CudaLaunch launchOverWarps(StringRef symbol, int64_t items);
/// A kernel that is one launch.
CudaKernelInfo onlyLaunch(CudaLaunch launch);

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_FORMS_H
