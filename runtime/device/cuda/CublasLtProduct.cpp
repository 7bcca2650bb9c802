//===- CublasLtProduct.cpp - a product of matrices by cuBLASLt ------------===//

#include "runtime/device/cuda/CublasLtProduct.h"

#include "runtime/plan/Describe.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// How elements are stored, and multiplied and added.
struct Types {
  cudaDataType_t element;
  cublasComputeType_t compute;
  cudaDataType_t scale; // of alpha and beta
};

absl::StatusOr<Types> typesOf(plan::ElementType type, bool allow_tf32) {
  switch (type) {
  case plan::F32:
    return Types{CUDA_R_32F,
                 allow_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                            : CUBLAS_COMPUTE_32F_PEDANTIC,
                 CUDA_R_32F};
  case plan::F64:
    return Types{CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
  case plan::F16:
    return Types{CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  case plan::BF16:
    return Types{CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
  default:
    return absl::UnimplementedError(
        absl::StrCat("cuBLASLt's product takes F32, F64, F16 and BF16, found ",
                     plan::ElementType_Name(type)));
  }
}

/// Returns the schemes whose sums are made in one order. The others add into C
/// as parts are ready, or round them to its type. A sum of parts is rounded to
/// that before a bias is added (pytorch's pull request 180875): with one, there
/// are no parts.
uint32_t schemesOf(const plan::Matmul &matmul) {
  return matmul.bias() ? CUBLASLT_REDUCTION_SCHEME_NONE
                       : CUBLASLT_REDUCTION_SCHEME_NONE |
                             CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

/// Bytes at a multiple of which a bias must begin: the library chooses as if it
/// did (pytorch's pull request 194497).
constexpr uint32_t kBiasAlignment = 16;

/// The number of candidates, of which the first that can be used is taken.
constexpr int kCandidates = 8;

} // namespace

std::string ProductKind::text() const {
  plan::ElementType type = matmul.element_type(), result = resultType(matmul);
  std::string text = absl::StrCat(
      nameOf(type), " ", matmul.batch(), " x ", matmul.m(), " x ", matmul.n(),
      " x ", matmul.k(), matmul.transpose_a() ? ", A transposed" : "",
      matmul.transpose_b() ? ", B transposed" : "");
  if (result != type) {
    absl::StrAppend(&text, ", C ", nameOf(result));
  }
  StoredMatrices matrices = matricesOf(matmul);
  for (auto [name, matrix] :
       {std::pair("A", matrices.a), {"B", matrices.b}, {"C", matrices.c}}) {
    if (matrix.leading != matrix.columns) {
      absl::StrAppend(&text, ", rows of ", name, " ", matrix.leading, " apart");
    }
  }
  if (adds) {
    absl::StrAppend(&text, ", added to C");
  }
  if (matmul.bias()) {
    absl::StrAppend(&text, ", plus a bias aligned ", align_bias);
  }
  if (type == plan::F32) {
    absl::StrAppend(&text, allow_tf32 ? ", TF32 allowed" : ", without TF32");
  }
  absl::StrAppend(&text, ", aligned ", align_a, " ", align_b, " ", align_c,
                  ", workspace ", workspace);
  return text;
}

absl::StatusOr<std::unique_ptr<CublasLtProduct>>
CublasLtProduct::create(const CublasLtApi &api, cublasLtHandle_t handle,
                        const ProductKind &kind) {
  if (kind.matmul.bias() && kind.align_bias % kBiasAlignment != 0) {
    return absl::UnimplementedError(absl::StrCat(
        "its bias begins at a multiple of ", kind.align_bias,
        " bytes; cuBLASLt takes one at a multiple of ", kBiasAlignment));
  }
  std::unique_ptr<CublasLtProduct> product(
      new CublasLtProduct(api, handle, kind));
  ZG_ASSIGN_OR_RETURN(product->operation, product->describe(/*bias=*/0));
  ZG_RETURN_IF_ERROR(product->makeLayouts());
  return product;
}

/// Describes a row-major matrix.
absl::Status CublasLtProduct::makeLayout(Layout &layout, plan::ElementType type,
                                         const StoredMatrix &matrix) {
  ZG_ASSIGN_OR_RETURN(Types types, typesOf(type, kind.allow_tf32));
  cublasLtMatrixLayout_t made = nullptr;
  ZG_CUBLASLT(api, cublasLtMatrixLayoutCreate, &made, types.element,
              matrix.columns, matrix.rows, int64_t(matrix.leading));
  layout.reset(made);
  int32_t count = int32_t(kind.matmul.batch());
  int64_t stride = int64_t(matrix.stride);
  ZG_CUBLASLT(api, cublasLtMatrixLayoutSetAttribute, made,
              CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count));
  ZG_CUBLASLT(api, cublasLtMatrixLayoutSetAttribute, made,
              CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
              sizeof(stride));
  return absl::OkStatus();
}

auto CublasLtProduct::describe(CUdeviceptr bias) const
    -> absl::StatusOr<Description> {
  const plan::Matmul &matmul = kind.matmul;
  ZG_ASSIGN_OR_RETURN(Types types,
                      typesOf(matmul.element_type(), kind.allow_tf32));
  cublasLtMatmulDesc_t made = nullptr;
  ZG_CUBLASLT(api, cublasLtMatmulDescCreate, &made, types.compute, types.scale);
  Description description(made, api.cublasLtMatmulDescDestroy);
  int32_t left_op = matmul.transpose_b() ? CUBLAS_OP_T : CUBLAS_OP_N;
  int32_t right_op = matmul.transpose_a() ? CUBLAS_OP_T : CUBLAS_OP_N;
  ZG_CUBLASLT(api, cublasLtMatmulDescSetAttribute, made,
              CUBLASLT_MATMUL_DESC_TRANSA, &left_op, sizeof(left_op));
  ZG_CUBLASLT(api, cublasLtMatmulDescSetAttribute, made,
              CUBLASLT_MATMUL_DESC_TRANSB, &right_op, sizeof(right_op));
  if (matmul.bias()) {
    // It has a number for each row of C', which is our column.
    uint32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    ZG_CUBLASLT(api, cublasLtMatmulDescSetAttribute, made,
                CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    ZG_CUBLASLT(api, cublasLtMatmulDescSetAttribute, made,
                CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias));
  }
  return description;
}

absl::Status CublasLtProduct::makeLayouts() {
  const plan::Matmul &matmul = kind.matmul;
  plan::ElementType type = matmul.element_type();
  StoredMatrices matrices = matricesOf(matmul);
  ZG_RETURN_IF_ERROR(makeLayout(left, type, matrices.b));
  ZG_RETURN_IF_ERROR(makeLayout(right, type, matrices.a));
  return makeLayout(result, resultType(matmul), matrices.c);
}

auto CublasLtProduct::makePreference() const
    -> absl::StatusOr<Owned<cublasLtMatmulPreferenceOpaque>> {
  cublasLtMatmulPreference_t made = nullptr;
  ZG_CUBLASLT(api, cublasLtMatmulPreferenceCreate, &made);
  Owned<cublasLtMatmulPreferenceOpaque> owned(
      made, api.cublasLtMatmulPreferenceDestroy);
  auto set = [&](int attribute, auto value) {
    ZG_CUBLASLT(api, cublasLtMatmulPreferenceSetAttribute, made, attribute,
                &value, sizeof(value));
    return absl::OkStatus();
  };
  ZG_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kind.workspace));
  ZG_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemesOf(kind.matmul)));
  // The epilogue reads the bias where it writes the result.
  uint32_t align_d = kind.matmul.bias()
                         ? std::min(kind.align_c, kind.align_bias)
                         : kind.align_c;
  const std::pair<int, uint32_t> kAlignments[] = {
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kind.align_b},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kind.align_a},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kind.align_c},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align_d}};
  for (auto [attribute, bytes] : kAlignments) {
    ZG_RETURN_IF_ERROR(set(attribute, bytes));
  }
  return owned;
}

absl::StatusOr<std::string>
CublasLtProduct::whyNot(const cublasLtMatmulHeuristicResult_t &found) const {
  uint32_t scheme = 0;
  size_t written = 0;
  ZG_CUBLASLT(api, cublasLtMatmulAlgoConfigGetAttribute, &found.algo,
              CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme, sizeof(scheme),
              &written);
  if ((scheme & ~schemesOf(kind.matmul)) != 0) {
    return absl::StrCat(
        "its sums are made in no fixed order, or rounded before "
        "a bias (reduction scheme ",
        scheme, ")");
  }
  if (found.workspaceSize > kind.workspace) {
    return absl::StrCat("it needs a workspace of ", found.workspaceSize,
                        " bytes, the plan has ", kind.workspace);
  }
  return std::string();
}

absl::Status CublasLtProduct::choose() {
  ZG_ASSIGN_OR_RETURN(auto preference, makePreference());
  cublasLtMatmulHeuristicResult_t found[kCandidates] = {};
  int count = 0;
  ZG_CUBLASLT(api, cublasLtMatmulAlgoGetHeuristic, handle, operation.get(),
              left.get(), right.get(), result.get(), result.get(),
              preference.get(), kCandidates, found, &count);
  for (int i = 0; i < count; ++i) {
    if (found[i].state != CUBLAS_STATUS_SUCCESS) {
      continue;
    }
    ZG_ASSIGN_OR_RETURN(std::string why, whyNot(found[i]));
    if (why.empty()) {
      chosen = found[i].algo;
      return absl::OkStatus();
    }
  }
  return absl::UnimplementedError(absl::StrCat(
      cublasLtVersion(api), " has no algorithm for it here (of ", count,
      " that it names); --matmul generated multiplies by "
      "generated kernels"));
}

absl::Status CublasLtProduct::take(const cublasLtMatmulAlgo_t &algorithm) {
  cublasLtMatmulHeuristicResult_t found = {};
  ZG_CUBLASLT(api, cublasLtMatmulAlgoCheck, handle, operation.get(), left.get(),
              right.get(), result.get(), result.get(), &algorithm, &found);
  found.algo = algorithm; // which the call leaves alone
  ZG_ASSIGN_OR_RETURN(std::string why, whyNot(found));
  if (!why.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the algorithm of the file cannot be used: ", why));
  }
  chosen = algorithm;
  return absl::OkStatus();
}

absl::Status CublasLtProduct::enqueue(const Description &description,
                                      CUdeviceptr a, CUdeviceptr b,
                                      CUdeviceptr c, CUdeviceptr workspace,
                                      CUstream stream) const {
  const float one = 1, zero = 0;
  const double one_f64 = 1, zero_f64 = 0;
  bool wide = kind.matmul.element_type() == plan::F64;
  const void *alpha = wide ? static_cast<const void *>(&one_f64) : &one;
  const void *none = wide ? static_cast<const void *>(&zero_f64) : &zero;
  const void *beta = kind.adds ? alpha : none;
  auto at = [](CUdeviceptr address) {
    return reinterpret_cast<void *>(address);
  };
  ZG_CUBLASLT(api, cublasLtMatmul, handle, description.get(), alpha, at(b),
              left.get(), at(a), right.get(), beta, at(c), result.get(), at(c),
              result.get(), &chosen, at(workspace), kind.workspace, stream);
  return absl::OkStatus();
}
