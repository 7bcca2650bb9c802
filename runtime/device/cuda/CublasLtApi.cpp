//===- CublasLtApi.cpp - the functions of cuBLASLt ------------------------===//

#include "runtime/device/cuda/CublasLtApi.h"

using namespace zerograph;

namespace {

/// The newest major version that is known; the oldest is one before it.
constexpr int kNewest = 13, kOldest = 12;

/// A library of a later CUDA than the driver's does not start.
absl::StatusOr<LibraryNames> names() {
  LibraryNames names{"cuBLASLt", {}, {"cu13", "cublas"}, "nvidia-cublas"};
  int newest = kNewest;
  // Without a driver, what is there can be told all the same.
  if (auto driver = cudaApi(); driver.ok()) {
    int version = 0;
    ZG_CUDA(**driver, cuDriverGetVersion, &version);
    newest = std::min(newest, version / 1000);
  }
  for (int major = newest; major >= kOldest; --major) {
    names.files.push_back(absl::StrCat("libcublasLt.so.", major));
  }
  if (names.files.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "NVIDIA's driver is for CUDA ", newest, ", and cuBLASLt needs one for ",
        kOldest, " or later: install a newer driver"));
  }
  if (newest < kNewest) {
    names.wheel = absl::StrCat("nvidia-cublas-cu", newest);
  }
  return names;
}

absl::StatusOr<const CublasLtApi *> load() {
  ZG_ASSIGN_OR_RETURN(LibraryNames wanted, names());
  ZG_ASSIGN_OR_RETURN(OpenedLibrary library, openLibrary(wanted));
  static CublasLtApi api;
#define ZEROGRAPH_PLACE(name, ...)                                             \
  {#name, reinterpret_cast<void **>(&api.name)},
  ZG_RETURN_IF_ERROR(findSymbols(
      wanted, library, {ZEROGRAPH_CUBLASLT_FUNCTIONS(ZEROGRAPH_PLACE)}));
#undef ZEROGRAPH_PLACE
  api.path = library.path;
  return &api;
}

constinit OpenedOnce<CublasLtApi> api_of_process(load);

} // namespace

void zerograph::setCublasLtApi(const CublasLtApi *api) {
  api_of_process.replace(api);
}

absl::StatusOr<const CublasLtApi *> zerograph::cublasLtApi() {
  return api_of_process.get();
}

std::string zerograph::cublasLtVersion(const CublasLtApi &api) {
  size_t version = api.cublasLtGetVersion();
  return absl::StrCat("cuBLASLt ", version / 10000, ".", version / 100 % 100,
                      ".", version % 100);
}

absl::Status zerograph::cublasLtStatus(const CublasLtApi &api,
                                       cublasStatus_t result,
                                       const char *call) {
  if (result == CUBLAS_STATUS_SUCCESS) {
    return absl::OkStatus();
  }
  const char *text = api.cublasLtGetStatusString(result);
  std::string message =
      absl::StrCat(call, ": ", text ? text : "error", " (", result, ")");
  return result == CUBLAS_STATUS_ALLOC_FAILED
             ? absl::ResourceExhaustedError(message)
             : absl::InternalError(message);
}
