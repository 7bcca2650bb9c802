//===- CudaTargetInfo.cpp - what passes ask of CUDA -----------------------===//

#include "codegen/cuda/CudaTargetInfo.h"

#include "codegen/cuda/forms/Forms.h"
#include "codegen/plan/PlanTypes.h"
#include "passes/ir/nn/Numerics.h"
#include "runtime/device/cuda/CudnnWorkspace.h"
#include "runtime/device/cuda/LibraryWorkspace.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::zg;

namespace {

/// A product of fewer multiplications and additions takes about as long as a
/// launch: a second one, to add up parts of it, cannot pay.
constexpr double kWorthWorkspace = 1e6;

/// Returns what NVIDIA's manual recommends for cuBLAS's workspace
/// ("cublasSetWorkspace"). The emulator's writes over all that it gets.
int64_t workspaceBytes(StringRef architecture) {
  if (architecture == kEmulated) {
    return int64_t(64) << 10;
  }
  return int64_t(architecture == "sm_90" ? 32 : 4) << 20;
}

} // namespace

/// Returns whether cuBLASLt and cuDNN compute with elements of this type.
static bool isOfLibraries(Type elementType) {
  return elementType.isF32() || elementType.isF64() || elementType.isF16() ||
         elementType.isBF16();
}

bool CudaTargetInfo::hasMatmul(Type elementType) const {
  return target.library && isOfLibraries(elementType);
}

bool CudaTargetInfo::hasConvolution(Type elementType) const {
  return target.convolution && isOfLibraries(elementType);
}

// By shape and architecture alone, so that everything that the library chooses
// by is the same whatever the stage, the ranks and the buckets.
FailureOr<int64_t>
CudaTargetInfo::matmulScratchBytes(const MatmulShape &shape,
                                   std::string &error) const {
  for (int64_t size : {shape.batch, shape.m, shape.n, shape.k}) {
    if (size > std::numeric_limits<int32_t>::max()) {
      error = "a size of it is " + std::to_string(size) +
              ", and cuBLASLt counts in 32 bits; --matmul generated multiplies "
              "by generated kernels";
      return failure();
    }
  }
  double operations = 2.0 * double(shape.batch) * double(shape.m) *
                      double(shape.n) * double(shape.k);
  return operations < kWorthWorkspace
             ? 0
             : zerograph::kWorkspaceSlack + workspaceBytes(target.architecture);
}

FailureOr<int64_t>
CudaTargetInfo::convolutionScratchBytes(const nn::Convolution &convolution,
                                        std::string &) const {
  uint64_t bytes = zerograph::convolutionWorkspace(
      planConvolution(convolution), target.architecture, target.allowTf32);
  return int64_t((zerograph::kWorkspaceSlack + bytes + 63) / 64 * 64);
}

// A thread has 16 bytes of a block of rows: with four warps of them for each of
// the 132 multiprocessors of an H100, enough loads are on their way.
bool CudaTargetInfo::splitsRowsOfColumns(int64_t rows, int64_t columns,
                                         int64_t elementBytes) const {
  constexpr int64_t kLeastThreads = 1 << 14, kLine = 128;
  int64_t threads = llvm::divideCeil(rows, nn::kRowBlock) *
                    (columns * elementBytes / cuda::kAccessBytes);
  return threads >= kLeastThreads && columns * elementBytes >= kLine;
}

// An exchange costs the host a group of NCCL, some 0.1 ms: with few ranks
// chunks are long enough to hide it. All ranks' together stay below 128 MiB.
int64_t CudaTargetInfo::exchangeBytes(int64_t ranks) const {
  constexpr int64_t kLeast = 1 << 20, kMost = 16 << 20, kAll = 128 << 20;
  return std::clamp(int64_t(llvm::alignDown(kAll / ranks, 256)), kLeast, kMost);
}

FailureOr<int64_t> CudaTargetInfo::kernelScratchBytes(Operation *op) const {
  auto kernel = dyn_cast<nn::KernelOp>(op);
  if (kernel && kernel.getForm() == nn::KernelForm::columns) {
    return cuda::columnsScratchBytes(kernel);
  }
  if (kernel && kernel.getForm() == nn::KernelForm::scatter) {
    return cuda::scatterScratchBytes(kernel);
  }
  return 0;
}
