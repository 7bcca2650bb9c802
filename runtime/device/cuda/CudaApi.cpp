//===- CudaApi.cpp - the functions of NVIDIA's driver ---------------------===//

#include "runtime/device/cuda/CudaApi.h"

#include <dlfcn.h>
#include <mutex>

using namespace zerograph;

namespace {

constexpr const char kLibrary[] = "libcuda.so.1";

absl::StatusOr<const CudaApi *> load() {
  // Never closed: what it has started does not end before the process.
  void *library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return absl::FailedPreconditionError(
        absl::StrCat("this machine has no NVIDIA driver: ", why ? why : "",
                     ". Run the plan on a machine with a GPU, or compile it "
                     "with --target host"));
  }
  static CudaApi api;
  for (auto [symbol, place] : {
#define ZEROGRAPH_PLACE(name, symbol, ...)                                     \
  std::pair<const char *, void **>{symbol,                                     \
                                   reinterpret_cast<void **>(&api.name)},
           ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_PLACE)
#undef ZEROGRAPH_PLACE
       }) {
    *place = dlsym(library, symbol);
    if (!*place) {
      return absl::FailedPreconditionError(
          absl::StrCat("NVIDIA's driver has no ", symbol, " (", kLibrary,
                       "): it is too old; version 11.8 or later is needed"));
    }
  }
  ZG_CUDA(api, cuInit, 0);
  return &api;
}

std::mutex mutex;
const CudaApi *replaced = nullptr;

} // namespace

void zerograph::setCudaApi(const CudaApi *api) {
  std::lock_guard<std::mutex> lock(mutex);
  replaced = api;
}

absl::StatusOr<const CudaApi *> zerograph::cudaApi() {
  std::lock_guard<std::mutex> lock(mutex);
  if (replaced) {
    return replaced;
  }
  static const absl::StatusOr<const CudaApi *> opened = load();
  return opened;
}

absl::Status zerograph::cudaStatus(const CudaApi &api, CUresult result,
                                   const char *call) {
  if (result == CUDA_SUCCESS) {
    return absl::OkStatus();
  }
  const char *name = nullptr, *text = nullptr;
  api.cuGetErrorName(result, &name);
  api.cuGetErrorString(result, &text);
  return absl::InternalError(absl::StrCat(call, ": ", text ? text : "error",
                                          " (", name ? name : "", " ", result,
                                          ")"));
}
