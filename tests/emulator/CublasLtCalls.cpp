//===- CublasLtCalls.cpp - the functions of cuBLASLt, emulated ------------===//

#include "tests/emulator/Counted.h"
#include "tests/emulator/CublasLtDescriptors.h"

#include "absl/strings/str_cat.h"

#include <cstring>

using namespace zerograph;
using namespace zerograph::emulator;

constexpr cublasStatus_t kMadeToFail = CUBLAS_STATUS_EXECUTION_FAILED;

namespace zerograph::emulator {

/// Each has the parameters of the library's function of that name.
struct CublasLtCalls : CublasLtDescriptors {
  using Algorithm = CublasLt::Algorithm;

  static bool fails(const char *function) {
    return library->gpu.countCall(function);
  }

  static size_t version() { return library->version; }
  static const char *statusString(cublasStatus_t status) {
    return library->gpu.wrong.empty() ? "made to fail"
                                      : library->gpu.wrong.c_str();
  }

  static cublasStatus_t create(cublasLtHandle_t *handle) {
    Lock lock(mutex());
    if (library->gpu.needContext()) {
      return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    // An address that is nothing else's.
    *handle = reinterpret_cast<cublasLtHandle_t>(new char);
    library->handles.insert(*handle);
    return CUBLAS_STATUS_SUCCESS;
  }
  static cublasStatus_t destroy(cublasLtHandle_t handle) {
    Lock lock(mutex());
    if (library->gpu.needContext() || library->handles.erase(handle) == 0) {
      return library->refuse("cublasLtDestroy is given no handle");
    }
    delete reinterpret_cast<char *>(handle);
    return CUBLAS_STATUS_SUCCESS;
  }

  static void name(cublasLtMatmulHeuristicResult_t &result,
                   const Algorithm &algorithm) {
    std::memcpy(&result.algo, &algorithm, sizeof(algorithm));
    result.workspaceSize = algorithm.workspace;
    result.state = CUBLAS_STATUS_SUCCESS;
  }
  static cublasStatus_t
  heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
            cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
            cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
            cublasLtMatmulPreference_t preference, int room,
            cublasLtMatmulHeuristicResult_t *results, int *count) {
    Lock lock(mutex());
    Operation operation;
    auto wanted = library->preferences.find(preference);
    if (wanted == library->preferences.end()) {
      return library->refuse("the heuristic is given no preference");
    }
    if (!library->gather("cublasLtMatmulAlgoGetHeuristic", handle, desc, a, b,
                         c, d, operation)) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    const Preference &keeps = *wanted->second;
    *count = 0;
    auto add = [&](uint32_t id, uint32_t parts, uint32_t scheme) {
      Algorithm algorithm =
          library->makeAlgorithm(operation, keeps, id, parts, scheme);
      if (*count < room && algorithm.workspace <= keeps.workspace &&
          (scheme & ~keeps.schemes) == 0) {
        name(results[(*count)++], algorithm);
      }
    };
    add(1, 1, CUBLASLT_REDUCTION_SCHEME_NONE);
    if (*count > 0) {
      results[0].state = CUBLAS_STATUS_NOT_SUPPORTED;
      std::memset(&results[0].algo, 0, sizeof(results[0].algo));
    }
    if (operation.product.inner() >= 64) {
      add(3, 4, 1); // in place, in any order
      add(2, 2, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
    }
    add(1, 1, CUBLASLT_REDUCTION_SCHEME_NONE);
    return CUBLAS_STATUS_SUCCESS;
  }

  static cublasStatus_t
  check(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
        cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
        cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
        const cublasLtMatmulAlgo_t *algo,
        cublasLtMatmulHeuristicResult_t *result) {
    Lock lock(mutex());
    Operation operation;
    if (!library->gather("cublasLtMatmulAlgoCheck", handle, desc, a, b, c, d,
                         operation)) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    Algorithm given;
    std::memcpy(&given, algo, sizeof(given));
    Algorithm own = library->makeAlgorithm(operation, {}, given.id, given.parts,
                                           given.scheme);
    if (given.magic != own.magic || given.problem != own.problem ||
        given.version != own.version) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    result->workspaceSize = given.workspace;
    result->state = CUBLAS_STATUS_SUCCESS;
    return CUBLAS_STATUS_SUCCESS;
  }
  static cublasStatus_t config(const cublasLtMatmulAlgo_t *algo, int attribute,
                               void *to, size_t bytes, size_t *written) {
    Lock lock(mutex());
    Algorithm algorithm;
    std::memcpy(&algorithm, algo, sizeof(algorithm));
    uint32_t value =
        attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME ? algorithm.scheme
        : attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM     ? algorithm.parts
                                                           : algorithm.id;
    if (bytes != sizeof(value)) {
      return library->refuse("an algorithm is asked for an attribute of "
                             "another size");
    }
    std::memcpy(to, &value, sizeof(value));
    *written = sizeof(value);
    return CUBLAS_STATUS_SUCCESS;
  }

  static cublasStatus_t
  matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
         const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
         cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
         cublasLtMatrixLayout_t c_layout, void *d,
         cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
         void *workspace, size_t workspace_bytes, CUstream stream) {
    Lock lock(mutex());
    Operation operation;
    if (!library->gather("cublasLtMatmul", handle, desc, a_layout, b_layout,
                         c_layout, d_layout, operation)) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    auto factor = [&](const void *value) {
      if (operation.scale == CUDA_R_64F) {
        return *static_cast<const double *>(value);
      }
      return double(*static_cast<const float *>(value));
    };
    double added = factor(beta);
    if (factor(alpha) != 1 || (added != 0 && added != 1) || c != d || !algo) {
      return library->refuse("cublasLtMatmul: only D = op(A) op(B) and D += "
                             "op(A) op(B) by a given algorithm are emulated");
    }
    operation.product.adds = added == 1;
    Algorithm algorithm;
    std::memcpy(&algorithm, algo, sizeof(algorithm));
    auto at = [](const void *pointer) {
      return reinterpret_cast<uint64_t>(pointer);
    };
    return library->enqueue(operation, algorithm, {at(a), at(b), at(d)},
                            at(workspace), workspace_bytes, stream);
  }
};

} // namespace zerograph::emulator

/// In the order of ZEROGRAPH_CUBLASLT_FUNCTIONS.
static const CublasLtApi kEmulated = {
    .cublasLtGetVersion = CublasLtCalls::version,
    .cublasLtGetStatusString = CublasLtCalls::statusString,
    .cublasLtCreate = CublasLtCalls::create,
    .cublasLtDestroy = CublasLtCalls::destroy,
    .cublasLtMatmulDescCreate = CublasLtCalls::createOperation,
    .cublasLtMatmulDescDestroy = CublasLtCalls::destroyOperation,
    .cublasLtMatmulDescSetAttribute = CublasLtCalls::setOperation,
    .cublasLtMatrixLayoutCreate = CublasLtCalls::createLayout,
    .cublasLtMatrixLayoutDestroy = CublasLtCalls::destroyLayout,
    .cublasLtMatrixLayoutSetAttribute = CublasLtCalls::setLayout,
    .cublasLtMatmulPreferenceCreate = CublasLtCalls::createPreference,
    .cublasLtMatmulPreferenceDestroy = CublasLtCalls::destroyPreference,
    .cublasLtMatmulPreferenceSetAttribute = CublasLtCalls::setPreference,
    .cublasLtMatmulAlgoGetHeuristic = CublasLtCalls::heuristic,
    .cublasLtMatmulAlgoCheck = CublasLtCalls::check,
    .cublasLtMatmulAlgoConfigGetAttribute = CublasLtCalls::config,
    .cublasLtMatmul = CublasLtCalls::matmul,
    .path = "emulated",
};

namespace {

struct Library {
  static constexpr const auto &table = kEmulated;
  static bool fails(const char *name) { return CublasLtCalls::fails(name); }
  template <auto Member>
  static int fail(auto...) {
    return kMadeToFail;
  }
};

ZEROGRAPH_CUBLASLT_FUNCTIONS(ZEROGRAPH_COUNTED_NAME)

#define ZEROGRAPH_PLACE(name, ...) ZEROGRAPH_COUNTED(Library, CublasLtApi, name)
const CublasLtApi kCounted = {
    ZEROGRAPH_CUBLASLT_FUNCTIONS(ZEROGRAPH_PLACE).path = "emulated"};

} // namespace

CublasLt::CublasLt(Gpu &gpu, size_t version) : gpu(gpu), version(version) {
  CublasLtCalls::library = this;
  setCublasLtApi(&kCounted);
}

CublasLt::~CublasLt() {
  setCublasLtApi(nullptr);
  CublasLtCalls::library = nullptr;
}
