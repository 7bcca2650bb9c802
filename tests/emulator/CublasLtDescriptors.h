//===- CublasLtDescriptors.h - what tells cuBLASLt of products ------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_CUBLASLTDESCRIPTORS_H
#define ZEROGRAPH_TESTS_EMULATOR_CUBLASLTDESCRIPTORS_H

#include "tests/emulator/CublasLt.h"

#include "absl/strings/str_cat.h"

#include <cstring>

namespace zerograph::emulator {

/// The emulated functions that make, change and end descriptors: each has the
/// parameters of the library's.
struct CublasLtDescriptors {
  using Lock = std::lock_guard<std::mutex>;
  using Operation = CublasLt::Operation;
  using Preference = CublasLt::Preference;

  /// The one that is installed.
  inline static CublasLt *library = nullptr;
  static std::mutex &mutex() { return library->gpu.mutex; }

  template <typename Opaque, typename T>
  static cublasStatus_t keep(Opaque **made,
                             std::map<const void *, std::unique_ptr<T>> &all,
                             const T &value) {
    auto owned = std::make_unique<T>(value);
    *made = reinterpret_cast<Opaque *>(owned.get());
    all[owned.get()] = std::move(owned);
    return CUBLAS_STATUS_SUCCESS;
  }
  template <typename T>
  static cublasStatus_t drop(const void *descriptor,
                             std::map<const void *, std::unique_ptr<T>> &all) {
    Lock lock(mutex());
    return all.erase(descriptor) > 0
               ? CUBLAS_STATUS_SUCCESS
               : library->refuse("a descriptor is destroyed that is gone, or "
                                 "never was");
  }
  /// Copies a value of just the size of what it is copied to.
  template <typename T>
  static cublasStatus_t copy(T &to, const void *from, size_t bytes) {
    if (!from || bytes != sizeof(T)) {
      return library->refuse(absl::StrCat("an attribute is set to ", bytes,
                                          " bytes, and has ", sizeof(T)));
    }
    std::memcpy(&to, from, sizeof(T));
    return CUBLAS_STATUS_SUCCESS;
  }
  static cublasStatus_t unknown(int attribute) {
    return library->refuse(absl::StrCat(
        "attribute ", attribute, " is set, or of a descriptor that is gone"));
  }

  static cublasStatus_t createOperation(cublasLtMatmulDesc_t *made,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
    Lock lock(mutex());
    Operation operation;
    operation.product.compute = compute;
    operation.scale = scale;
    return keep(made, library->operations, operation);
  }
  static cublasStatus_t destroyOperation(cublasLtMatmulDesc_t operation) {
    return drop(operation, library->operations);
  }
  static cublasStatus_t setOperation(cublasLtMatmulDesc_t operation,
                                     int attribute, const void *from,
                                     size_t bytes) {
    Lock lock(mutex());
    auto found = library->operations.find(operation);
    if (found == library->operations.end()) {
      return unknown(attribute);
    }
    Product &product = found->second->product;
    int32_t value = 0;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      status = copy(value, from, bytes);
      product.transpose_a = value == CUBLAS_OP_T;
      return status;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      status = copy(value, from, bytes);
      product.transpose_b = value == CUBLAS_OP_T;
      return status;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      status = copy(value, from, bytes);
      product.biased = true;
      return value == int32_t(CUBLASLT_EPILOGUE_BIAS)
                 ? status
                 : library->refuse("an epilogue other than a bias is not "
                                   "emulated");
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return copy(found->second->bias, from, bytes);
    default:
      return unknown(attribute);
    }
  }

  static cublasStatus_t createLayout(cublasLtMatrixLayout_t *made,
                                     cudaDataType_t type, uint64_t rows,
                                     uint64_t columns, int64_t leading) {
    Lock lock(mutex());
    return keep(made, library->layouts,
                Matrices{type, rows, columns, leading, 1, 0});
  }
  static cublasStatus_t destroyLayout(cublasLtMatrixLayout_t layout) {
    return drop(layout, library->layouts);
  }
  static cublasStatus_t setLayout(cublasLtMatrixLayout_t layout, int attribute,
                                  const void *from, size_t bytes) {
    Lock lock(mutex());
    auto found = library->layouts.find(layout);
    if (found == library->layouts.end()) {
      return unknown(attribute);
    }
    switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return copy(found->second->count, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return copy(found->second->stride, from, bytes);
    default:
      return unknown(attribute);
    }
  }

  static cublasStatus_t createPreference(cublasLtMatmulPreference_t *made) {
    Lock lock(mutex());
    return keep(made, library->preferences, Preference());
  }
  static cublasStatus_t
  destroyPreference(cublasLtMatmulPreference_t preference) {
    return drop(preference, library->preferences);
  }
  static cublasStatus_t setPreference(cublasLtMatmulPreference_t preference,
                                      int attribute, const void *from,
                                      size_t bytes) {
    Lock lock(mutex());
    auto found = library->preferences.find(preference);
    if (found == library->preferences.end()) {
      return unknown(attribute);
    }
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return copy(found->second->workspace, from, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return copy(found->second->schemes, from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return copy(
          found->second->alignments[attribute -
                                    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
          from, bytes);
    default:
      return unknown(attribute);
    }
  }
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_CUBLASLTDESCRIPTORS_H
