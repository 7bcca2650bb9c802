//===- CudnnApi.h - the functions of cuDNN --------------------------------===//
//
// Our own declarations of just what is used: names, types and values are those
// of cudnn_graph.h, of cuDNN 9's backend. The library is opened at run time.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNAPI_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNAPI_H

#include "runtime/device/cuda/CudaApi.h"
#include "runtime/device/cuda/Libraries.h"

#include <string>

namespace zerograph {

using cudnnStatus_t = int;
using cudnnHandle_t = struct cudnnContext *;
using cudnnBackendDescriptor_t = void *;
// Enumerations of the header.
using cudnnBackendDescriptorType_t = int;
using cudnnBackendAttributeName_t = int;
using cudnnBackendAttributeType_t = int;

inline constexpr cudnnStatus_t CUDNN_STATUS_SUCCESS = 0;
inline constexpr cudnnStatus_t CUDNN_STATUS_NOT_INITIALIZED = 1001;
inline constexpr cudnnStatus_t CUDNN_STATUS_BAD_PARAM = 2000;
inline constexpr cudnnStatus_t CUDNN_STATUS_NOT_SUPPORTED = 3000;
inline constexpr cudnnStatus_t CUDNN_STATUS_INTERNAL_ERROR = 4000;
inline constexpr cudnnStatus_t
    CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 4003;
inline constexpr cudnnStatus_t
    CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004;
inline constexpr cudnnStatus_t CUDNN_STATUS_EXECUTION_FAILED = 5000;

inline constexpr int32_t CUDNN_DATA_FLOAT = 0;
inline constexpr int32_t CUDNN_DATA_DOUBLE = 1;
inline constexpr int32_t CUDNN_DATA_HALF = 2;
inline constexpr int32_t CUDNN_DATA_BFLOAT16 = 9;
inline constexpr int32_t CUDNN_CROSS_CORRELATION = 1;
inline constexpr int32_t CUDNN_HEUR_MODE_FALLBACK = 2;
inline constexpr int32_t CUDNN_HEUR_MODE_A = 3;

inline constexpr int CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR = 1;
inline constexpr int CUDNN_BACKEND_ENGINE_DESCRIPTOR = 2;
inline constexpr int CUDNN_BACKEND_ENGINECFG_DESCRIPTOR = 3;
inline constexpr int CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 4;
inline constexpr int CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 5;
inline constexpr int CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR = 7;
inline constexpr int CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR =
    10;
inline constexpr int
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR = 11;
inline constexpr int
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR = 12;
inline constexpr int CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR = 15;
inline constexpr int CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR = 16;
inline constexpr int CUDNN_BACKEND_TENSOR_DESCRIPTOR = 17;
inline constexpr int CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR = 38;

inline constexpr int CUDNN_ATTR_CONVOLUTION_COMP_TYPE = 100;
inline constexpr int CUDNN_ATTR_CONVOLUTION_CONV_MODE = 101;
inline constexpr int CUDNN_ATTR_CONVOLUTION_DILATIONS = 102;
inline constexpr int CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES = 103;
inline constexpr int CUDNN_ATTR_CONVOLUTION_POST_PADDINGS = 104;
inline constexpr int CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS = 105;
inline constexpr int CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS = 106;
inline constexpr int CUDNN_ATTR_ENGINEHEUR_MODE = 200;
inline constexpr int CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH = 201;
inline constexpr int CUDNN_ATTR_ENGINEHEUR_RESULTS = 202;
inline constexpr int CUDNN_ATTR_ENGINEHEUR_DEVICEPROP = 204;
inline constexpr int CUDNN_ATTR_ENGINECFG_ENGINE = 300;
inline constexpr int CUDNN_ATTR_ENGINECFG_KNOB_CHOICES = 302;
inline constexpr int CUDNN_ATTR_EXECUTION_PLAN_HANDLE = 400;
inline constexpr int CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG = 401;
inline constexpr int CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 402;
inline constexpr int CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP = 407;
inline constexpr int CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE = 600;
inline constexpr int CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE = 601;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA = 700;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA = 701;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC = 702;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W = 703;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X = 704;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y = 705;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA = 706;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA = 707;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC = 708;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W = 709;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX = 710;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY = 711;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA = 712;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA = 713;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC =
    714;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW = 715;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X = 716;
inline constexpr int CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY = 717;
inline constexpr int CUDNN_ATTR_OPERATIONGRAPH_HANDLE = 800;
inline constexpr int CUDNN_ATTR_OPERATIONGRAPH_OPS = 801;
inline constexpr int CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT = 900;
inline constexpr int CUDNN_ATTR_TENSOR_DATA_TYPE = 901;
inline constexpr int CUDNN_ATTR_TENSOR_DIMENSIONS = 902;
inline constexpr int CUDNN_ATTR_TENSOR_STRIDES = 903;
inline constexpr int CUDNN_ATTR_TENSOR_UNIQUE_ID = 906;
inline constexpr int CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS = 1000;
inline constexpr int CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS = 1001;
inline constexpr int CUDNN_ATTR_VARIANT_PACK_WORKSPACE = 1003;
inline constexpr int CUDNN_ATTR_ENGINE_OPERATION_GRAPH = 1300;
inline constexpr int CUDNN_ATTR_ENGINE_GLOBAL_INDEX = 1301;
inline constexpr int CUDNN_ATTR_ENGINE_NUMERICAL_NOTE = 1303;
inline constexpr int CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE = 1305;
inline constexpr int CUDNN_ATTR_ENGINE_DEVICEPROP = 1307;
inline constexpr int CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION = 2702;

inline constexpr int CUDNN_TYPE_HANDLE = 0;
inline constexpr int CUDNN_TYPE_DATA_TYPE = 1;
inline constexpr int CUDNN_TYPE_INT64 = 3;
inline constexpr int CUDNN_TYPE_FLOAT = 4;
inline constexpr int CUDNN_TYPE_DOUBLE = 5;
inline constexpr int CUDNN_TYPE_VOID_PTR = 6;
inline constexpr int CUDNN_TYPE_CONVOLUTION_MODE = 7;
inline constexpr int CUDNN_TYPE_HEUR_MODE = 8;
inline constexpr int CUDNN_TYPE_KNOB_TYPE = 9;
inline constexpr int CUDNN_TYPE_NUMERICAL_NOTE = 11;
inline constexpr int CUDNN_TYPE_BACKEND_DESCRIPTOR = 15;
inline constexpr int CUDNN_TYPE_BEHAVIOR_NOTE = 19;
inline constexpr int CUDNN_TYPE_CHAR = 24;

inline constexpr int32_t CUDNN_NUMERICAL_NOTE_TENSOR_CORE = 0;
inline constexpr int32_t CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS = 1;
inline constexpr int32_t CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION = 2;
inline constexpr int32_t CUDNN_NUMERICAL_NOTE_FFT = 3;
inline constexpr int32_t CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC = 4;
inline constexpr int32_t CUDNN_NUMERICAL_NOTE_WINOGRAD = 5;
inline constexpr int32_t CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP = 9;
inline constexpr int32_t CUDNN_NUMERICAL_NOTE_TYPE_COUNT = 10;
inline constexpr int32_t CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION = 0;
inline constexpr int32_t CUDNN_BEHAVIOR_NOTE_CUBLASLT_DEPENDENCY = 4;
inline constexpr int32_t CUDNN_BEHAVIOR_NOTE_TYPE_COUNT = 5;

// F(name, result and parameters).
#define ZEROGRAPH_CUDNN_FUNCTIONS(F)                                           \
  F(cudnnGetVersion, size_t())                                                 \
  F(cudnnGetErrorString, const char *(cudnnStatus_t))                          \
  F(cudnnCreate, cudnnStatus_t(cudnnHandle_t *))                               \
  F(cudnnDestroy, cudnnStatus_t(cudnnHandle_t))                                \
  F(cudnnSetStream, cudnnStatus_t(cudnnHandle_t, CUstream))                    \
  F(cudnnBackendCreateDescriptor,                                              \
    cudnnStatus_t(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *))   \
  F(cudnnBackendDestroyDescriptor, cudnnStatus_t(cudnnBackendDescriptor_t))    \
  F(cudnnBackendSetAttribute,                                                  \
    cudnnStatus_t(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,       \
                  cudnnBackendAttributeType_t, int64_t, const void *))         \
  F(cudnnBackendGetAttribute,                                                  \
    cudnnStatus_t(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,       \
                  cudnnBackendAttributeType_t, int64_t, int64_t *, void *))    \
  F(cudnnBackendFinalize, cudnnStatus_t(cudnnBackendDescriptor_t))             \
  F(cudnnBackendExecute,                                                       \
    cudnnStatus_t(cudnnHandle_t, cudnnBackendDescriptor_t,                     \
                  cudnnBackendDescriptor_t))

/// The library's functions, or those of what stands for it in tests.
struct CudnnApi {
#define ZEROGRAPH_DECLARE(name, ...) std::add_pointer_t<__VA_ARGS__> name;
  ZEROGRAPH_CUDNN_FUNCTIONS(ZEROGRAPH_DECLARE)
#undef ZEROGRAPH_DECLARE
  std::string path; ///< the library's file
};

/// The library, opened once; or an error that says what is missing.
/// Thread-safe.
absl::StatusOr<const CudnnApi *> cudnnApi();

/// From now on `cudnnApi` gives this one, which outlives its users; null: the
/// machine's again. For tests.
void setCudnnApi(const CudnnApi *api);

/// "cuDNN 9.19.0".
std::string cudnnVersion(const CudnnApi &api);

/// An error names the call and says what the library says; unimplemented is
/// what it does not support.
absl::Status cudnnStatus(const CudnnApi &api, cudnnStatus_t result,
                         const char *call);

/// A handle of the thread's GPU. An error says what is amiss with the library,
/// which can be opened also where it cannot be used.
absl::StatusOr<cudnnHandle_t> createCudnn(const CudnnApi &api);

/// Calls `api.name(...)` of CudnnApi `api`, and returns its error.
#define ZG_CUDNN(api, name, ...)                                               \
  ZG_RETURN_IF_ERROR(                                                          \
      ::zerograph::cudnnStatus(api, (api).name(__VA_ARGS__), #name))

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNNAPI_H
