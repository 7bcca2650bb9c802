//===- CudaTarget.h - the GPUs that kernels are made for ------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_CUDATARGET_H
#define ZEROGRAPH_CODEGEN_CUDA_CUDATARGET_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::zg {

/// The architecture of tests/emulator, which runs the code of kEmulatedAs.
/// Products get less working space than on a GPU, as its cuBLASLt writes over
/// all of it.
inline constexpr llvm::StringLiteral kEmulated = "emulated";
inline constexpr llvm::StringLiteral kEmulatedAs = "sm_80";

/// PTX for one architecture, which the driver compiles for it and for those
/// after it.
struct CudaTarget {
  /// "sm_90", of one of zerograph::kArchitectures; or kEmulated.
  std::string architecture;
  /// Products are cuBLASLt's; else they are kernels.
  bool library = true;
  /// Convolutions are cuDNN's; else they become products.
  bool convolution = false;
  /// Both of f32 may round what they multiply to TF32.
  bool allowTf32 = false;
  /// Kernels approximate exponentials and reciprocals of f32.
  bool fastMath = false;
  /// NCCL adds gradients up, in an order of its own.
  bool anyOrder = false;
};

/// Parses the name of an architecture. `error` says which there are.
FailureOr<CudaTarget> parseCudaTarget(StringRef text, std::string &error);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_CUDA_CUDATARGET_H
