//===- CublasLtProduct.h - a product of matrices by cuBLASLt --------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLTPRODUCT_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLTPRODUCT_H

#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/plan/Matrices.h"

#include <memory>
#include <string>

namespace zerograph {

/// All that the library may choose by. It follows from the model, the type and
/// the target alone: two plans that differ in stage, ranks or buckets have the
/// same products.
struct ProductKind {
  plan::Matmul matmul;
  bool adds = false;       ///< to what C has
  bool allow_tf32 = false; ///< for products of f32
  /// Bytes of which A, B, C and a bias begin at multiples.
  uint32_t align_a = 0, align_b = 0, align_c = 0, align_bias = 0;
  uint64_t workspace = 0; ///< bytes that the library may use

  /// "f32 1 x 64 x 128 x 256, B transposed, without TF32, aligned 64 64 64,
  /// workspace 4194304": one line, other for another kind.
  std::string text() const;
};

/// A product with its descriptors and the algorithm that computes it. Belongs
/// to a handle, which outlives it. All calls except `algorithm` need the
/// handle's context to be the thread's.
class CublasLtProduct {
public:
  static absl::StatusOr<std::unique_ptr<CublasLtProduct>>
  create(const CublasLtApi &api, cublasLtHandle_t handle,
         const ProductKind &kind);

  /// The first that the library's heuristic names among those that give the
  /// same bits each time: partial sums, if any, are kept in the type of the
  /// computation and added in order.
  absl::Status choose();
  /// One that was chosen before; an error where the library does not take it
  /// here, or where it would break what `choose` keeps.
  absl::Status take(const cublasLtMatmulAlgo_t &algorithm);
  /// Returns the algorithm of `choose` or `take`.
  const cublasLtMatmulAlgo_t &algorithm() const { return chosen; }

  /// A descriptor of the library and the function that destroys it.
  template <typename T>
  using Owned = std::unique_ptr<T, cublasStatus_t (*)(T *)>;
  using Description = Owned<cublasLtMatmulDescOpaque>;

  /// Describes the product with this bias, 0 of a kind without one: the library
  /// reads its address from there.
  absl::StatusOr<Description> describe(CUdeviceptr bias) const;

  /// C = op(A) op(B), or C += of a kind that adds, row-major, on a stream, with
  /// the bias of `description`. `workspace` has the kind's bytes and alignment;
  /// null where these are 0. Thread-safe.
  absl::Status enqueue(const Description &description, CUdeviceptr a,
                       CUdeviceptr b, CUdeviceptr c, CUdeviceptr workspace,
                       CUstream stream) const;

private:
  using Layout = Owned<cublasLtMatrixLayoutOpaque>;

  CublasLtProduct(const CublasLtApi &api, cublasLtHandle_t handle,
                  const ProductKind &kind)
      : api(api), handle(handle), kind(kind),
        operation(nullptr, api.cublasLtMatmulDescDestroy),
        left(nullptr, api.cublasLtMatrixLayoutDestroy),
        right(nullptr, api.cublasLtMatrixLayoutDestroy),
        result(nullptr, api.cublasLtMatrixLayoutDestroy) {}

  absl::Status makeLayouts();
  absl::Status makeLayout(Layout &layout, plan::ElementType type,
                          const StoredMatrix &matrix);
  absl::StatusOr<Owned<cublasLtMatmulPreferenceOpaque>> makePreference() const;
  /// Says why an algorithm is not to be used; empty if it may.
  absl::StatusOr<std::string>
  whyNot(const cublasLtMatmulHeuristicResult_t &found) const;

  const CublasLtApi &api;
  cublasLtHandle_t handle;
  ProductKind kind;
  Description operation; // without an address of a bias
  // The library is column-major: a row-major matrix is its transpose to it, and
  // C' = op(B)' op(A)'. So B is its left operand, and A its right one.
  Layout left, right, result;
  cublasLtMatmulAlgo_t chosen = {};
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUBLASLTPRODUCT_H
