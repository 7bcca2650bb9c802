//===- CudaApi.cpp - the functions of NVIDIA's driver ---------------------===//

#include "runtime/device/cuda/CudaApi.h"

#include "runtime/device/cuda/Libraries.h"

#include "absl/strings/numbers.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

using namespace zerograph;

namespace {

constexpr const char kLibrary[] = "libcuda.so.1";
/// The first that reads PTX 7.8.
constexpr int kLeastVersion = 11080;

constexpr const char kQueues[] = "CUDA_DEVICE_MAX_CONNECTIONS";

absl::StatusOr<const CudaApi *> load() {
  // The driver's own choice, 8, is fewer than ranks that share a GPU need.
  setenv(kQueues, std::to_string(kMostCudaQueues).c_str(), /*overwrite=*/0);
  // Never closed: what it has started does not end before the process.
  void *library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return absl::FailedPreconditionError(absl::StrCat(
        "this machine has no NVIDIA driver: ", why ? why : "",
        ". Train on one with a GPU (a container is given it: docker run "
        "--gpus all); `compile` and `inspect` do without"));
  }
  static CudaApi api;
#define ZEROGRAPH_PLACE(name, symbol, ...)                                     \
  {symbol, reinterpret_cast<void **>(&api.name)},
  ZG_RETURN_IF_ERROR(findSymbols(
      {"NVIDIA's driver", {}, {}, "", "version 11.8 or later is needed"},
      {library, kLibrary}, {ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_PLACE)}));
#undef ZEROGRAPH_PLACE
  CUresult started = api.cuInit(0);
  int count = 0;
  if (started == CUDA_SUCCESS) {
    ZG_CUDA(api, cuDeviceGetCount, &count);
  }
  if (started == CUDA_ERROR_NO_DEVICE ||
      (started == CUDA_SUCCESS && count == 0)) {
    return absl::FailedPreconditionError(
        "this machine has NVIDIA's driver, and no GPU that this process may "
        "use (CUDA_VISIBLE_DEVICES)");
  }
  ZG_RETURN_IF_ERROR(cudaStatus(api, started, "cuInit"));
  int version = 0;
  ZG_CUDA(api, cuDriverGetVersion, &version);
  if (version < kLeastVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("NVIDIA's driver is for CUDA ", version / 1000, ".",
                     version % 1000 / 10, "; plans need 11.8 or later"));
  }
  return &api;
}

constinit OpenedOnce<CudaApi> api_of_process(load);

} // namespace

void zerograph::setCudaApi(const CudaApi *api) { api_of_process.replace(api); }

absl::StatusOr<const CudaApi *> zerograph::cudaApi() {
  return api_of_process.get();
}

unsigned zerograph::cudaQueues() {
  const char *given = std::getenv(kQueues);
  unsigned queues = 0;
  return given && absl::SimpleAtoi(given, &queues) && queues > 0
             ? std::min(queues, kMostCudaQueues)
             : kMostCudaQueues;
}

absl::Status zerograph::cudaStatus(const CudaApi &api, CUresult result,
                                   const char *call) {
  if (result == CUDA_SUCCESS) {
    return absl::OkStatus();
  }
  const char *name = nullptr, *text = nullptr;
  api.cuGetErrorName(result, &name);
  api.cuGetErrorString(result, &text);
  std::string message = absl::StrCat(call, ": ", text ? text : "error", " (",
                                     name ? name : "", " ", result, ")");
  return result == CUDA_ERROR_OUT_OF_MEMORY
             ? absl::ResourceExhaustedError(message)
             : absl::InternalError(message);
}
