//===- CudaModule.h - a plan's PTX, compiled by the driver ----------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAMODULE_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAMODULE_H

#include "runtime/device/Device.h"
#include "runtime/device/Driver.h"
#include "runtime/device/cuda/CublasLt.h"
#include "runtime/device/cuda/Cudnn.h"

#include <map>

namespace zerograph {

/// A launch of a kernel, without its parameters.
struct CudaLaunch {
  CUfunction function = nullptr;
  unsigned grid = 1, block = 1, shared_bytes = 0;
};

class CudaModule final : public Module {
public:
  /// An error names the kernel that the module lacks, or is what the driver's
  /// compiler says.
  static absl::StatusOr<std::unique_ptr<CudaModule>>
  load(std::shared_ptr<CudaContext> context, const plan::Plan &plan,
       const LoadOptions &options);
  ~CudaModule() override;

  /// Returns the launches of a kernel of the plan, one after the other.
  const std::vector<CudaLaunch> &launches(uint32_t kernel) const {
    return kernels[kernel];
  }

  /// Returns the kernel that adds up what travels as `wire`, by threads of
  /// `width` elements; null where no step of the plan does. See FoldKernel.h.
  CUfunction fold(plan::ElementType wire, uint64_t width) const;

  std::string choices() const override;
  /// The plan's products and convolutions; null where a library computes none.
  const CublasLt *products() const { return cublaslt.get(); }
  const Cudnn *convolutions() const { return cudnn.get(); }

  const std::shared_ptr<CudaContext> &gpu() const { return context; }

private:
  explicit CudaModule(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}
  absl::StatusOr<CUmodule> loadText(const std::string &text);
  absl::StatusOr<CUfunction> find(CUmodule module, const std::string &symbol,
                                  unsigned block) const;

  std::shared_ptr<CudaContext> context;
  std::vector<CUmodule> modules;
  std::vector<std::vector<CudaLaunch>> kernels;
  std::map<std::pair<plan::ElementType, uint64_t>, CUfunction> folds;
  std::unique_ptr<CublasLt> cublaslt;
  std::unique_ptr<Cudnn> cudnn;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAMODULE_H
