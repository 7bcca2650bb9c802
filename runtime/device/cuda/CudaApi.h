//===- CudaApi.h - the functions of NVIDIA's driver -----------------------===//
//
// Our own declarations of just what is used: names, types and values are those
// of cuda.h ("CUDA Driver API", the versions that the symbols name). The
// library is opened at run time, so that one program starts on machines with a
// GPU and without.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAAPI_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAAPI_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace zerograph {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUgraph = struct CUgraph_st *;
using CUgraphExec = struct CUgraphExec_st *;

using CUmemGenericAllocationHandle = unsigned long long;

struct CUuuid {
  char bytes[16];
};
struct CUmemLocation {
  int type;
  int id;
};
struct CUmemAllocationProp {
  int type;
  int requestedHandleTypes;
  CUmemLocation location;
  void *win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;
};

inline constexpr CUresult CUDA_SUCCESS = 0;
inline constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
inline constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
inline constexpr CUresult CUDA_ERROR_NOT_READY = 600;
inline constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
inline constexpr int CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;
/// Until the value is at least that.
inline constexpr unsigned CU_STREAM_WAIT_VALUE_GEQ = 0;
/// Writes after a fence: what the stream wrote before is there.
inline constexpr unsigned CU_STREAM_WRITE_VALUE_DEFAULT = 0;
inline constexpr unsigned CU_EVENT_DEFAULT = 0;
inline constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;
inline constexpr int CU_JIT_ERROR_LOG_BUFFER = 5;
inline constexpr int CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
inline constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
inline constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
inline constexpr int
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110;
/// Since CUDA 12.4; earlier drivers return an error.
inline constexpr int CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED = 128;
inline constexpr int CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0;
inline constexpr int CU_MEM_ALLOCATION_TYPE_PINNED = 1;
inline constexpr int CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1;
inline constexpr int CU_MEM_HANDLE_TYPE_FABRIC = 8;
inline constexpr int CU_MEM_LOCATION_TYPE_DEVICE = 1;
inline constexpr int CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3;
inline constexpr int CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1;
inline constexpr int CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14;

// F(name, symbol in the library, result and parameters).
#define ZEROGRAPH_CUDA_FUNCTIONS(F)                                            \
  F(cuInit, "cuInit", CUresult(unsigned))                                      \
  F(cuGetErrorName, "cuGetErrorName", CUresult(CUresult, const char **))       \
  F(cuGetErrorString, "cuGetErrorString", CUresult(CUresult, const char **))   \
  F(cuDriverGetVersion, "cuDriverGetVersion", CUresult(int *))                 \
  F(cuDeviceGetCount, "cuDeviceGetCount", CUresult(int *))                     \
  F(cuDeviceGet, "cuDeviceGet", CUresult(CUdevice *, int))                     \
  F(cuDeviceGetName, "cuDeviceGetName", CUresult(char *, int, CUdevice))       \
  F(cuDeviceGetUuid, "cuDeviceGetUuid_v2", CUresult(CUuuid *, CUdevice))       \
  F(cuDeviceGetAttribute, "cuDeviceGetAttribute",                              \
    CUresult(int *, int, CUdevice))                                            \
  F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                      \
    CUresult(CUcontext *, CUdevice))                                           \
  F(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2",                 \
    CUresult(CUdevice))                                                        \
  F(cuCtxSetCurrent, "cuCtxSetCurrent", CUresult(CUcontext))                   \
  F(cuMemGetInfo, "cuMemGetInfo_v2", CUresult(size_t *, size_t *))             \
  F(cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity",            \
    CUresult(size_t *, const CUmemAllocationProp *, int))                      \
  F(cuMemAddressReserve, "cuMemAddressReserve",                                \
    CUresult(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long))  \
  F(cuMemAddressFree, "cuMemAddressFree", CUresult(CUdeviceptr, size_t))       \
  F(cuMemCreate, "cuMemCreate",                                                \
    CUresult(CUmemGenericAllocationHandle *, size_t,                           \
             const CUmemAllocationProp *, unsigned long long))                 \
  F(cuMemRelease, "cuMemRelease", CUresult(CUmemGenericAllocationHandle))      \
  F(cuMemMap, "cuMemMap",                                                      \
    CUresult(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,        \
             unsigned long long))                                              \
  F(cuMemUnmap, "cuMemUnmap", CUresult(CUdeviceptr, size_t))                   \
  F(cuMemSetAccess, "cuMemSetAccess",                                          \
    CUresult(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t))            \
  F(cuMemHostAlloc, "cuMemHostAlloc", CUresult(void **, size_t, unsigned))     \
  F(cuMemFreeHost, "cuMemFreeHost", CUresult(void *))                          \
  F(cuMemcpyHtoD, "cuMemcpyHtoD_v2",                                           \
    CUresult(CUdeviceptr, const void *, size_t))                               \
  F(cuMemcpyDtoH, "cuMemcpyDtoH_v2", CUresult(void *, CUdeviceptr, size_t))    \
  F(cuMemsetD8, "cuMemsetD8_v2", CUresult(CUdeviceptr, unsigned char, size_t)) \
  F(cuMemsetD32, "cuMemsetD32_v2", CUresult(CUdeviceptr, unsigned, size_t))    \
  F(cuPointerGetAttribute, "cuPointerGetAttribute",                            \
    CUresult(void *, int, CUdeviceptr))                                        \
  F(cuMemcpyAsync, "cuMemcpyAsync",                                            \
    CUresult(CUdeviceptr, CUdeviceptr, size_t, CUstream))                      \
  F(cuMemsetD8Async, "cuMemsetD8Async",                                        \
    CUresult(CUdeviceptr, unsigned char, size_t, CUstream))                    \
  F(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                  \
    CUresult(CUmodule *, const void *, unsigned, int *, void **))              \
  F(cuModuleUnload, "cuModuleUnload", CUresult(CUmodule))                      \
  F(cuModuleGetFunction, "cuModuleGetFunction",                                \
    CUresult(CUfunction *, CUmodule, const char *))                            \
  F(cuFuncGetAttribute, "cuFuncGetAttribute",                                  \
    CUresult(int *, int, CUfunction))                                          \
  F(cuLaunchKernel, "cuLaunchKernel",                                          \
    CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,     \
             unsigned, unsigned, CUstream, void **, void **))                  \
  F(cuStreamCreateWithPriority, "cuStreamCreateWithPriority",                  \
    CUresult(CUstream *, unsigned, int))                                       \
  F(cuStreamDestroy, "cuStreamDestroy_v2", CUresult(CUstream))                 \
  F(cuStreamSynchronize, "cuStreamSynchronize", CUresult(CUstream))            \
  F(cuStreamWaitEvent, "cuStreamWaitEvent",                                    \
    CUresult(CUstream, CUevent, unsigned))                                     \
  F(cuStreamWaitValue32, "cuStreamWaitValue32_v2",                             \
    CUresult(CUstream, CUdeviceptr, uint32_t, unsigned))                       \
  F(cuStreamWriteValue32, "cuStreamWriteValue32_v2",                           \
    CUresult(CUstream, CUdeviceptr, uint32_t, unsigned))                       \
  F(cuEventCreate, "cuEventCreate", CUresult(CUevent *, unsigned))             \
  F(cuEventDestroy, "cuEventDestroy_v2", CUresult(CUevent))                    \
  F(cuEventRecord, "cuEventRecord", CUresult(CUevent, CUstream))               \
  F(cuEventQuery, "cuEventQuery", CUresult(CUevent))                           \
  F(cuEventElapsedTime, "cuEventElapsedTime",                                  \
    CUresult(float *, CUevent, CUevent))                                       \
  F(cuStreamBeginCapture, "cuStreamBeginCapture_v2", CUresult(CUstream, int))  \
  F(cuStreamEndCapture, "cuStreamEndCapture", CUresult(CUstream, CUgraph *))   \
  F(cuGraphInstantiate, "cuGraphInstantiateWithFlags",                         \
    CUresult(CUgraphExec *, CUgraph, unsigned long long))                      \
  F(cuGraphUpload, "cuGraphUpload", CUresult(CUgraphExec, CUstream))           \
  F(cuGraphLaunch, "cuGraphLaunch", CUresult(CUgraphExec, CUstream))           \
  F(cuGraphDestroy, "cuGraphDestroy", CUresult(CUgraph))                       \
  F(cuGraphExecDestroy, "cuGraphExecDestroy", CUresult(CUgraphExec))

/// A driver's functions, or those of what stands for it in tests.
struct CudaApi {
#define ZEROGRAPH_DECLARE(name, symbol, ...)                                   \
  std::add_pointer_t<__VA_ARGS__> name;
  ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_DECLARE)
#undef ZEROGRAPH_DECLARE
};

/// The driver of this machine, opened once; or an error that says what is
/// missing. Before it opens the driver it sets CUDA_DEVICE_MAX_CONNECTIONS,
/// where the user did not, to the most that there is. Thread-safe; the first
/// call before other threads read the environment.
absl::StatusOr<const CudaApi *> cudaApi();

/// Queues of the hardware that the streams of this process share on a GPU, as
/// CUDA_DEVICE_MAX_CONNECTIONS says.
inline constexpr unsigned kMostCudaQueues = 32;
unsigned cudaQueues();

/// From now on `cudaApi` gives this one, which outlives its users. For tests.
void setCudaApi(const CudaApi *api);

/// An error names the call and says what the driver says.
absl::Status cudaStatus(const CudaApi &api, CUresult result, const char *call);

/// Calls `api.name(...)` of CudaApi `api`, and returns its error.
#define ZG_CUDA(api, name, ...)                                                \
  ZG_RETURN_IF_ERROR(                                                          \
      ::zerograph::cudaStatus(api, (api).name(__VA_ARGS__), #name))

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAAPI_H
