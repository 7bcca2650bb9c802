//===- NcclApi.cpp - the functions of NCCL --------------------------------===//

#include "runtime/comm/nccl/NcclApi.h"

#include "runtime/device/cuda/Libraries.h"

#include "absl/strings/match.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace zerograph;

namespace {

/// The first version that registers buffers.
constexpr int kLeastVersion = 21900;

/// Returns the names of NCCL for the driver's CUDA: the wheel for CUDA 13 does
/// not start with a driver for CUDA 12.
LibraryNames names() {
  int version = 13000;
  if (auto driver = cudaApi(); driver.ok()) {
    (*driver)->cuDriverGetVersion(&version);
  }
  return {"NCCL",
          {"libnccl.so.2"},
          {"nccl"},
          version < 13000 ? "nvidia-nccl-cu12" : "nvidia-nccl-cu13"};
}

absl::StatusOr<const NcclApi *> load() {
  setenv("NCCL_RUNTIME_CONNECT", "0", /*overwrite=*/0);
  setenv("NCCL_GRAPH_REGISTER", "0", /*overwrite=*/0);
  ZG_ASSIGN_OR_RETURN(OpenedLibrary library, openLibrary(names()));
  static NcclApi api;
#define ZEROGRAPH_PLACE(name, ...)                                             \
  LibrarySymbol{#name, reinterpret_cast<void **>(&api.name)},
  ZG_RETURN_IF_ERROR(findSymbols(names(), library,
                                 {ZEROGRAPH_NCCL_FUNCTIONS(ZEROGRAPH_PLACE)}));
  for (LibrarySymbol newer :
       {ZEROGRAPH_NCCL_NEWER_FUNCTIONS(ZEROGRAPH_PLACE)}) {
    *newer.place = dlsym(library.handle, newer.symbol);
  }
#undef ZEROGRAPH_PLACE
  api.path = library.path;
  int version = 0;
  ZG_RETURN_IF_ERROR(ncclStatus(api, api.ncclGetVersion(&version),
                                "ncclGetVersion", /*comm=*/nullptr));
  if (version < kLeastVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        library.path, " is NCCL ", ncclVersionText(version),
        "; 2.19 or later is needed (pip install ", names().wheel, ")"));
  }
  return &api;
}

constinit OpenedOnce<NcclApi> api_of_process(load);

} // namespace

void zerograph::setNcclApi(const NcclApi *api) { api_of_process.replace(api); }

absl::StatusOr<const NcclApi *> zerograph::ncclApi() {
  return api_of_process.get();
}

std::string zerograph::ncclVersionText(int version) {
  return absl::StrCat(version / 10000, ".", version % 10000 / 100, ".",
                      version % 100);
}

absl::StatusOr<std::string> zerograph::ncclVersion(const NcclApi &api) {
  int version = 0;
  ZG_RETURN_IF_ERROR(ncclStatus(api, api.ncclGetVersion(&version),
                                "ncclGetVersion", /*comm=*/nullptr));
  return ncclVersionText(version);
}

absl::Status zerograph::ncclStatus(const NcclApi &api, ncclResult_t result,
                                   const char *call, ncclComm_t comm) {
  if (result == ncclSuccess) {
    return absl::OkStatus();
  }
  const char *text = api.ncclGetErrorString(result);
  const char *more = api.ncclGetLastError(comm);
  std::string message =
      absl::StrCat(call, ": ", text ? text : "error", " (", result, ")");
  if (more && *more) {
    absl::StrAppend(&message, ": ", more);
  }
  // The message is of CUDA's runtime within NCCL; NCCL's version does not tell
  // for which CUDA it was built.
  if (absl::StrContains(message, "driver version is insufficient")) {
    absl::StrAppend(&message, ". ", api.path,
                    " is for a newer CUDA than the driver: pip install ",
                    names().wheel, ", or update the driver");
  }
  if (absl::StrContains(message, "Duplicate GPU")) {
    absl::StrAppend(
        &message, ". Give each process a GPU of its own, or start one process "
                  "with all ranks, which may share one");
  }
  return absl::InternalError(message);
}
