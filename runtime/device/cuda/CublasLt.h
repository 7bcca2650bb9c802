//===- CublasLt.h - a plan's products by cuBLASLt -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLT_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLT_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Algorithms.h"
#include "runtime/device/cuda/CublasLtProduct.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/ProductParts.h"

#include <map>

namespace zerograph {

struct LibraryStep;

/// The library opened on one GPU, and every product that a plan's steps ask
/// for, each with its algorithm. Shared by the ranks of a process; thread-safe
/// once it is made.
class CublasLt {
public:
  /// Null where the plan has no such step. Takes its algorithms from the file
  /// or, where that does not decide, adds them. An error names the step, and
  /// says what is missing or what the file was written for. An environment that
  /// would change how products are computed is refused.
  static absl::StatusOr<std::unique_ptr<CublasLt>>
  open(std::shared_ptr<CudaContext> context, const plan::Plan &plan,
       Algorithms &algorithms);
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;
  CublasLt &operator=(const CublasLt &) = delete;

  /// Version, GPU and a digest of the algorithms: where two of these are equal,
  /// products have the same bits.
  const std::string &choices() const { return chosen; }

  /// Binds one of the plan's products. This and the buffers outlive it.
  absl::StatusOr<std::unique_ptr<Operation>>
  bind(const StepBinding &step) const;

private:
  CublasLt(std::shared_ptr<CudaContext> context, const CublasLtApi &api)
      : context(std::move(context)), api(api) {}

  ProductKind kindOf(const plan::Step &step, const ProductPart &part) const;
  absl::Status addProducts(const std::vector<LibraryStep> &steps);
  absl::Status addProduct(const LibraryStep &asking, const ProductPart &part);
  absl::Status choose(Algorithms &algorithms);
  absl::Status loadKernels() const;

  /// A kind that the plan asks for, and the first step that does.
  struct Entry {
    ProductKind kind;
    std::unique_ptr<CublasLtProduct> product;
    std::string asked_by;
  };

  std::shared_ptr<CudaContext> context;
  const CublasLtApi &api;
  cublasLtHandle_t handle = nullptr;
  bool allow_tf32 = false;
  /// The bytes of which each slice of the plan begins at a multiple.
  std::vector<uint64_t> slice_alignments;
  std::map<std::string, Entry> products; // by the text of the kind
  std::string chosen;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLT_H
