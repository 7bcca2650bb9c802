//===- OpenCuda.h - --target cuda:... -------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_OPENCUDA_H
#define ZEROGRAPH_CODEGEN_CUDA_OPENCUDA_H

#include "codegen/plan/Target.h"

namespace mlir::zg {

/// Opens an architecture that `parseCudaTarget` knows, or "native", that of
/// this machine's GPU.
absl::StatusOr<Target> openCuda(const TargetOptions &asked);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_CUDA_OPENCUDA_H
