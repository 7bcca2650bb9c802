//===- CublasLtAlgorithms.h - algorithms of products, in a file -----------===//
//
// Which algorithm the library chooses depends on its version and on the GPU.
// The file says for which they were chosen, and is refused elsewhere; so two
// runs with one file multiply the very same way. It is text: a line a product,
// and below it the library's 64 bytes.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLTALGORITHMS_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLTALGORITHMS_H

#include "runtime/device/cuda/CublasLtApi.h"

#include <map>
#include <optional>
#include <string>

namespace zerograph {

struct CublasLtAlgorithms {
  std::string library; ///< "cuBLASLt 13.1.0"
  std::string gpu;     ///< "sm_90 with 132 multiprocessors"
  /// By the text of the product's kind.
  std::map<std::string, cublasLtMatmulAlgo_t> products;
};

/// Nothing where there is no such file. An error names the line.
absl::StatusOr<std::optional<CublasLtAlgorithms>>
readAlgorithms(const std::string &path);

/// The file is there whole or not at all.
absl::Status writeAlgorithms(const std::string &path,
                             const CublasLtAlgorithms &algorithms);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLTALGORITHMS_H
