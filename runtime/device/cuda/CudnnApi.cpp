//===- CudnnApi.cpp - the functions of cuDNN ------------------------------===//

#include "runtime/device/cuda/CudnnApi.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// Wheels are one for each CUDA, of the driver's or an earlier one.
absl::StatusOr<LibraryNames> names() {
  constexpr int kOldest = 12, kNewest = 13;
  int cuda = kNewest;
  // Without a driver, what is there can be told all the same.
  if (auto driver = cudaApi(); driver.ok()) {
    int version = 0;
    ZG_CUDA(**driver, cuDriverGetVersion, &version);
    cuda = std::clamp(version / 1000, kOldest, kNewest);
  }
  return LibraryNames{"cuDNN",
                      {"libcudnn.so.9"},
                      {"cudnn"},
                      absl::StrCat("nvidia-cudnn-cu", cuda)};
}

absl::StatusOr<const CudnnApi *> load() {
  ZG_ASSIGN_OR_RETURN(LibraryNames wanted, names());
  ZG_ASSIGN_OR_RETURN(OpenedLibrary library, openLibrary(wanted));
  static CudnnApi api;
#define ZEROGRAPH_PLACE(name, ...)                                             \
  {#name, reinterpret_cast<void **>(&api.name)},
  ZG_RETURN_IF_ERROR(findSymbols(wanted, library,
                                 {ZEROGRAPH_CUDNN_FUNCTIONS(ZEROGRAPH_PLACE)}));
#undef ZEROGRAPH_PLACE
  api.path = library.path;
  return &api;
}

constinit OpenedOnce<CudnnApi> api_of_process(load);

} // namespace

void zerograph::setCudnnApi(const CudnnApi *api) {
  api_of_process.replace(api);
}

absl::StatusOr<const CudnnApi *> zerograph::cudnnApi() {
  return api_of_process.get();
}

std::string zerograph::cudnnVersion(const CudnnApi &api) {
  size_t version = api.cudnnGetVersion();
  return absl::StrCat("cuDNN ", version / 10000, ".", version / 100 % 100, ".",
                      version % 100);
}

absl::Status zerograph::cudnnStatus(const CudnnApi &api, cudnnStatus_t result,
                                    const char *call) {
  if (result == CUDNN_STATUS_SUCCESS) {
    return absl::OkStatus();
  }
  const char *text = api.cudnnGetErrorString(result);
  std::string message =
      absl::StrCat(call, ": ", text ? text : "error", " (", result, ")");
  if (result == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      result == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    return absl::ResourceExhaustedError(message);
  }
  constexpr int kCategory = 1000; // how many errors are of a kind
  return result / kCategory == CUDNN_STATUS_NOT_SUPPORTED / kCategory
             ? absl::UnimplementedError(message)
             : absl::InternalError(message);
}

absl::StatusOr<cudnnHandle_t> zerograph::createCudnn(const CudnnApi &api) {
  cudnnHandle_t handle = nullptr;
  absl::Status status =
      cudnnStatus(api, api.cudnnCreate(&handle), "cudnnCreate");
  if (status.ok()) {
    return handle;
  }
  if (absl::IsResourceExhausted(status)) {
    return status;
  }
  ZG_ASSIGN_OR_RETURN(LibraryNames wanted, names());
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), ". ", api.path,
                   " is for a newer CUDA than the driver, or libraries beside "
                   "it are of another version: pip install ",
                   wanted.wheel, ", or compile with --convolution generated"));
}
