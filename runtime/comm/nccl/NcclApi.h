//===- NcclApi.h - the functions of NCCL ----------------------------------===//
//
// Our own declarations of just what is used. Names and values are those of
// nccl.h ("NVIDIA Collective Communication Library (NCCL) Documentation").
// The library is opened at run time, so that one program starts on machines
// with NCCL and without.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLAPI_H
#define ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLAPI_H

#include "runtime/device/cuda/CudaApi.h"

#include <climits>
#include <string>

namespace zerograph {

using ncclResult_t = int;
using ncclDataType_t = int;
using ncclRedOp_t = int;
using ncclComm_t = struct ncclComm *;
using ncclWindow_t = struct ncclWindow_vidmem *;

inline constexpr ncclResult_t ncclSuccess = 0;
inline constexpr ncclResult_t ncclInvalidUsage = 5;
inline constexpr ncclResult_t ncclRemoteError = 6;
inline constexpr ncclResult_t ncclInProgress = 7;
inline constexpr ncclDataType_t ncclUint8 = 1;
inline constexpr ncclDataType_t ncclFloat32 = 7;
inline constexpr ncclDataType_t ncclFloat64 = 8;
inline constexpr ncclRedOp_t ncclSum = 0;
inline constexpr int NCCL_UNIQUE_ID_BYTES = 128;
inline constexpr int NCCL_WIN_COLL_SYMMETRIC = 1;

struct ncclUniqueId {
  char internal[NCCL_UNIQUE_ID_BYTES];
};

/// The configuration as version 2.18 has it; later ones take it for what it
/// says it is, and give what they have added its default.
struct ncclConfig_t {
  size_t size = sizeof(ncclConfig_t);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = INT_MIN;
  int cgaClusterSize = INT_MIN;
  int minCTAs = INT_MIN;
  int maxCTAs = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
};

// Lists F(name, parameters); all return ncclResult_t but the texts of errors.
#define ZEROGRAPH_NCCL_FUNCTIONS(F)                                            \
  F(ncclGetVersion, ncclResult_t(int *))                                       \
  F(ncclGetUniqueId, ncclResult_t(ncclUniqueId *))                             \
  F(ncclGetErrorString, const char *(ncclResult_t))                            \
  F(ncclGetLastError, const char *(ncclComm_t))                                \
  F(ncclCommInitRankConfig,                                                    \
    ncclResult_t(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *))        \
  F(ncclCommGetAsyncError, ncclResult_t(ncclComm_t, ncclResult_t *))           \
  F(ncclCommFinalize, ncclResult_t(ncclComm_t))                                \
  F(ncclCommDestroy, ncclResult_t(ncclComm_t))                                 \
  F(ncclCommAbort, ncclResult_t(ncclComm_t))                                   \
  F(ncclCommRegister, ncclResult_t(ncclComm_t, void *, size_t, void **))       \
  F(ncclCommDeregister, ncclResult_t(ncclComm_t, void *))                      \
  F(ncclGroupStart, ncclResult_t())                                            \
  F(ncclGroupEnd, ncclResult_t())                                              \
  F(ncclSend, ncclResult_t(const void *, size_t, ncclDataType_t, int,          \
                           ncclComm_t, CUstream))                              \
  F(ncclRecv,                                                                  \
    ncclResult_t(void *, size_t, ncclDataType_t, int, ncclComm_t, CUstream))   \
  F(ncclAllGather, ncclResult_t(const void *, void *, size_t, ncclDataType_t,  \
                                ncclComm_t, CUstream))                         \
  F(ncclReduceScatter,                                                         \
    ncclResult_t(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,    \
                 ncclComm_t, CUstream))

// Lists functions since 2.27; null in earlier versions.
#define ZEROGRAPH_NCCL_NEWER_FUNCTIONS(F)                                      \
  F(ncclCommWindowRegister,                                                    \
    ncclResult_t(ncclComm_t, void *, size_t, ncclWindow_t *, int))             \
  F(ncclCommWindowDeregister, ncclResult_t(ncclComm_t, ncclWindow_t))

/// A library's functions, or those of what stands for it in tests.
struct NcclApi {
#define ZEROGRAPH_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name;
  ZEROGRAPH_NCCL_FUNCTIONS(ZEROGRAPH_DECLARE)
  ZEROGRAPH_NCCL_NEWER_FUNCTIONS(ZEROGRAPH_DECLARE)
#undef ZEROGRAPH_DECLARE
  std::string path = {}; // of the library's file
};

/// Returns NCCL, opened once; or an error that says what is missing. Needs
/// neither a driver nor a GPU. Before it opens the library it sets
/// NCCL_RUNTIME_CONNECT, where the user did not, to 0: connections are made
/// when a communicator is, so that no memory is allocated later; and
/// NCCL_GRAPH_REGISTER to 0, since what is registered is decided here, for
/// graphs too. Thread-safe; the first call comes before other threads read the
/// environment.
absl::StatusOr<const NcclApi *> ncclApi();

/// Makes `ncclApi` return this one, which outlives its users, from now on. For
/// tests.
void setNcclApi(const NcclApi *api);

/// Returns "2.28.9" for 22809.
std::string ncclVersionText(int version);
absl::StatusOr<std::string> ncclVersion(const NcclApi &api);

/// Returns OK or an error that names the call and what NCCL says; `comm` may be
/// null.
absl::Status ncclStatus(const NcclApi &api, ncclResult_t result,
                        const char *call, ncclComm_t comm);

/// Does the same for a call between ncclGroupStart and ncclGroupEnd, which may
/// be in progress until the group ends.
inline absl::Status ncclGrouped(const NcclApi &api, ncclResult_t result,
                                const char *call) {
  return result == ncclInProgress ? absl::OkStatus()
                                  : ncclStatus(api, result, call, nullptr);
}

/// Calls `api.name(...)` of NcclApi `api` within a group, and returns its
/// error.
#define ZG_NCCL(api, name, ...)                                                \
  ZG_RETURN_IF_ERROR(                                                          \
      ::zerograph::ncclGrouped(api, (api).name(__VA_ARGS__), #name))

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLAPI_H
