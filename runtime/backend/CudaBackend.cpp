//===- CudaBackend.cpp - NVIDIA's GPUs ------------------------------------===//

#include "runtime/backend/Backend.h"
#include "runtime/comm/cuda/GpuGroup.h"
#include "runtime/comm/nccl/NcclApi.h"
#include "runtime/comm/nccl/NcclCollectives.h"
#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaDriver.h"
#include "runtime/device/cuda/CudnnApi.h"

#include "absl/strings/str_format.h"

using namespace zerograph;

namespace {

/// Returns the driver's version and the first GPU's name.
absl::StatusOr<std::string> describeGpu() {
  ZG_ASSIGN_OR_RETURN(const CudaApi *api, cudaApi());
  int version = 0, count = 0;
  ZG_CUDA(*api, cuDriverGetVersion, &version);
  ZG_CUDA(*api, cuDeviceGetCount, &count);
  std::string text =
      absl::StrFormat("driver for CUDA %d.%d, %d GPU%s", version / 1000,
                      version % 1000 / 10, count, count == 1 ? "" : "s");
  if (count > 0) {
    CUdevice device = 0;
    char name[256] = "";
    ZG_CUDA(*api, cuDeviceGet, &device, 0);
    ZG_CUDA(*api, cuDeviceGetName, name, sizeof(name), device);
    absl::StrAppend(&text, ", the first is ", name);
  }
  return text;
}

absl::StatusOr<std::string> describeCublasLt() {
  ZG_ASSIGN_OR_RETURN(const CublasLtApi *api, cublasLtApi());
  return absl::StrCat(cublasLtVersion(*api), ", ", api->path);
}

absl::StatusOr<std::string> describeCudnn() {
  ZG_ASSIGN_OR_RETURN(const CudnnApi *api, cudnnApi());
  return absl::StrCat(cudnnVersion(*api), ", ", api->path);
}

absl::StatusOr<std::string> describeNccl() {
  ZG_ASSIGN_OR_RETURN(const NcclApi *api, ncclApi());
  ZG_ASSIGN_OR_RETURN(std::string version, ncclVersion(*api));
  return absl::StrCat(version, ", ", api->path);
}

/// NVIDIA's libraries beside the driver: version and place, or what is missing
/// and what to install.
struct GpuLibrary {
  const char *name;
  const char *enables;
  absl::StatusOr<std::string> (*describe)();
};
constexpr GpuLibrary kGpuLibraries[] = {
    {"cuBLASLt",
     "multiplies matrices on GPUs, of plans for cuda with --matmul library",
     describeCublasLt},
    {"cuDNN",
     "convolves on GPUs, of plans for cuda with --convolution library, which "
     "is the default where it is there",
     describeCudnn},
    {"NCCL", "exchanges between GPUs; without it ranks share one, as threads",
     describeNccl},
};

class CudaBackend final : public Backend {
public:
  const char *name() const override { return "cuda"; }

  absl::StatusOr<std::unique_ptr<Driver>> open(const plan::Target &target,
                                               unsigned number) const override {
    return openCudaDriver(target, number);
  }

  std::vector<std::pair<std::string, std::string>> describe() const override {
    auto textOf = [](const absl::StatusOr<std::string> &found) {
      return found.ok() ? *found : std::string(found.status().message());
    };
    absl::StatusOr<std::string> gpu = describeGpu();
    std::vector<std::pair<std::string, std::string>> lines = {
        {"CUDA", textOf(gpu)}};
    if (gpu.ok()) {
      absl::StatusOr<std::string> architecture = nativeArchitecture();
      lines.push_back(
          {"", architecture.ok()
                   ? absl::StrCat("plans for cuda:", *architecture, " run here")
                   : textOf(architecture)});
    }
    for (const GpuLibrary &library : kGpuLibraries) {
      absl::StatusOr<std::string> found = library.describe();
      lines.push_back(
          {library.name,
           absl::StrCat(found.ok() ? "" : "not found; ", library.enables)});
      lines.push_back({"", textOf(found)});
    }
    return lines;
  }

  absl::StatusOr<std::vector<std::string>> list() const override {
    return listGpus();
  }
  bool lost() const override { return CudaContext::anyAbandoned(); }

  std::vector<std::unique_ptr<Collectives>>
  share(const Module &module,
        absl::Span<ControlPlane *const> controls) const override {
    return makeGpuGroup(module, controls);
  }
  absl::StatusOr<std::unique_ptr<Collectives>>
  connect(const Module &module, ControlPlane &control,
          const ExchangeOptions &options) const override {
    return makeNcclCollectives(module, control, options);
  }
  absl::StatusOr<std::string> exchangeLibrary() const override {
    ZG_ASSIGN_OR_RETURN(const NcclApi *api, ncclApi());
    ZG_ASSIGN_OR_RETURN(std::string version, ncclVersion(*api));
    return absl::StrCat("NCCL ", version);
  }
};

} // namespace

namespace zerograph {

const Backend &cudaBackend() {
  static const CudaBackend backend;
  return backend;
}

} // namespace zerograph
