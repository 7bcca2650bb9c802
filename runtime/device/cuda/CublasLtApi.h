//===- CublasLtApi.h - the functions of cuBLASLt --------------------------===//
//
// Our own declarations of just what is used: names, types and values are those
// of cublasLt.h. The library is opened at run time.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLTAPI_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLTAPI_H

#include "runtime/device/cuda/CudaApi.h"
#include "runtime/device/cuda/Libraries.h"

#include <string>

namespace zerograph {

using cublasStatus_t = int;
using cublasComputeType_t = int;
using cudaDataType_t = int;
using cublasLtHandle_t = struct cublasLtContext *;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque *;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque *;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque *;

/// An algorithm of one library version, device and shape; may be written down.
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

inline constexpr cublasStatus_t CUBLAS_STATUS_SUCCESS = 0;
inline constexpr cublasStatus_t CUBLAS_STATUS_NOT_INITIALIZED = 1;
inline constexpr cublasStatus_t CUBLAS_STATUS_ALLOC_FAILED = 3;
inline constexpr cublasStatus_t CUBLAS_STATUS_INVALID_VALUE = 7;
inline constexpr cublasStatus_t CUBLAS_STATUS_EXECUTION_FAILED = 13;
inline constexpr cublasStatus_t CUBLAS_STATUS_NOT_SUPPORTED = 15;
inline constexpr cudaDataType_t CUDA_R_32F = 0;
inline constexpr cudaDataType_t CUDA_R_64F = 1;
inline constexpr cudaDataType_t CUDA_R_16F = 2;
inline constexpr cudaDataType_t CUDA_R_16BF = 14;
inline constexpr cublasComputeType_t CUBLAS_COMPUTE_32F = 68;
inline constexpr cublasComputeType_t CUBLAS_COMPUTE_32F_PEDANTIC = 69;
inline constexpr cublasComputeType_t CUBLAS_COMPUTE_64F = 70;
inline constexpr cublasComputeType_t CUBLAS_COMPUTE_32F_FAST_TF32 = 77;
inline constexpr int32_t CUBLAS_OP_N = 0;
inline constexpr int32_t CUBLAS_OP_T = 1;
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSA = 3;
inline constexpr int CUBLASLT_MATMUL_DESC_TRANSB = 4;
inline constexpr int CUBLASLT_MATMUL_DESC_EPILOGUE = 7;
inline constexpr int CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8;
inline constexpr uint32_t CUBLASLT_EPILOGUE_BIAS = 4;
inline constexpr int CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5;
inline constexpr int CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6;
inline constexpr int CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1;
inline constexpr int CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7;
inline constexpr int CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8;
inline constexpr uint32_t CUBLASLT_REDUCTION_SCHEME_NONE = 0;
inline constexpr uint32_t CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2;
inline constexpr int CUBLASLT_ALGO_CONFIG_ID = 0;
inline constexpr int CUBLASLT_ALGO_CONFIG_SPLITK_NUM = 2;
inline constexpr int CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME = 3;

// F(name, result and parameters). Attributes are enumerations of the header.
#define ZEROGRAPH_CUBLASLT_FUNCTIONS(F)                                        \
  F(cublasLtGetVersion, size_t())                                              \
  F(cublasLtGetStatusString, const char *(cublasStatus_t))                     \
  F(cublasLtCreate, cublasStatus_t(cublasLtHandle_t *))                        \
  F(cublasLtDestroy, cublasStatus_t(cublasLtHandle_t))                         \
  F(cublasLtMatmulDescCreate,                                                  \
    cublasStatus_t(cublasLtMatmulDesc_t *, cublasComputeType_t,                \
                   cudaDataType_t))                                            \
  F(cublasLtMatmulDescDestroy, cublasStatus_t(cublasLtMatmulDesc_t))           \
  F(cublasLtMatmulDescSetAttribute,                                            \
    cublasStatus_t(cublasLtMatmulDesc_t, int, const void *, size_t))           \
  F(cublasLtMatrixLayoutCreate,                                                \
    cublasStatus_t(cublasLtMatrixLayout_t *, cudaDataType_t, uint64_t,         \
                   uint64_t, int64_t))                                         \
  F(cublasLtMatrixLayoutDestroy, cublasStatus_t(cublasLtMatrixLayout_t))       \
  F(cublasLtMatrixLayoutSetAttribute,                                          \
    cublasStatus_t(cublasLtMatrixLayout_t, int, const void *, size_t))         \
  F(cublasLtMatmulPreferenceCreate,                                            \
    cublasStatus_t(cublasLtMatmulPreference_t *))                              \
  F(cublasLtMatmulPreferenceDestroy,                                           \
    cublasStatus_t(cublasLtMatmulPreference_t))                                \
  F(cublasLtMatmulPreferenceSetAttribute,                                      \
    cublasStatus_t(cublasLtMatmulPreference_t, int, const void *, size_t))     \
  F(cublasLtMatmulAlgoGetHeuristic,                                            \
    cublasStatus_t(cublasLtHandle_t, cublasLtMatmulDesc_t,                     \
                   cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,             \
                   cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,             \
                   cublasLtMatmulPreference_t, int,                            \
                   cublasLtMatmulHeuristicResult_t *, int *))                  \
  F(cublasLtMatmulAlgoCheck,                                                   \
    cublasStatus_t(cublasLtHandle_t, cublasLtMatmulDesc_t,                     \
                   cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,             \
                   cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,             \
                   const cublasLtMatmulAlgo_t *,                               \
                   cublasLtMatmulHeuristicResult_t *))                         \
  F(cublasLtMatmulAlgoConfigGetAttribute,                                      \
    cublasStatus_t(const cublasLtMatmulAlgo_t *, int, void *, size_t,          \
                   size_t *))                                                  \
  F(cublasLtMatmul,                                                            \
    cublasStatus_t(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *,       \
                   const void *, cublasLtMatrixLayout_t, const void *,         \
                   cublasLtMatrixLayout_t, const void *, const void *,         \
                   cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,     \
                   const cublasLtMatmulAlgo_t *, void *, size_t, CUstream))

/// The library's functions, or those of what stands for it in tests.
struct CublasLtApi {
#define ZEROGRAPH_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name;
  ZEROGRAPH_CUBLASLT_FUNCTIONS(ZEROGRAPH_DECLARE)
#undef ZEROGRAPH_DECLARE
  std::string path; ///< the library's file
};

/// The newest library that this machine has and its driver can run, opened
/// once; or an error that says what is missing. Thread-safe.
absl::StatusOr<const CublasLtApi *> cublasLtApi();

/// From now on `cublasLtApi` gives this one, which outlives its users; null:
/// the machine's again. For tests.
void setCublasLtApi(const CublasLtApi *api);

/// "cuBLASLt 13.1.0".
std::string cublasLtVersion(const CublasLtApi &api);

/// An error names the call and says what the library says.
absl::Status cublasLtStatus(const CublasLtApi &api, cublasStatus_t result,
                            const char *call);

/// Calls `api.name(...)` of CublasLtApi `api`, and returns its error.
#define ZG_CUBLASLT(api, name, ...)                                            \
  ZG_RETURN_IF_ERROR(                                                          \
      ::zerograph::cublasLtStatus(api, (api).name(__VA_ARGS__), #name))

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLTAPI_H
