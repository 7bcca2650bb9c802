//===- CublasLtHeaderTest.cpp - our declarations are cublasLt.h's ---------===//
//
// Compiled against the toolkit's header where there is one: the sizes of
// results and parameters of each function that is used, of the structs, and the
// values of constants. A header of CUDA 12 says the same.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#include "runtime/device/cuda/CublasLtApi.h"
#include "tests/runtime/device/SameShape.h"

namespace {

using zerograph::testing::sameShape;

#define ZEROGRAPH_SAME(name, ...)                                              \
  EXPECT_TRUE(sameShape(api.name, decltype (&::name)(nullptr))) << #name;

TEST(CublasLtHeader, Functions) {
  zerograph::CublasLtApi api = {};
  ZEROGRAPH_CUBLASLT_FUNCTIONS(ZEROGRAPH_SAME)
}

TEST(CublasLtHeader, Structs) {
  using Ours = zerograph::cublasLtMatmulHeuristicResult_t;
  using Theirs = ::cublasLtMatmulHeuristicResult_t;
  EXPECT_EQ(sizeof(zerograph::cublasLtMatmulAlgo_t),
            sizeof(::cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(Ours), sizeof(Theirs));
  EXPECT_EQ(offsetof(Ours, workspaceSize), offsetof(Theirs, workspaceSize));
  EXPECT_EQ(offsetof(Ours, state), offsetof(Theirs, state));
  EXPECT_EQ(offsetof(Ours, wavesCount), offsetof(Theirs, wavesCount));
}

TEST(CublasLtHeader, Constants) {
  ZEROGRAPH_EQUAL(CUBLAS_STATUS_SUCCESS);
  ZEROGRAPH_EQUAL(CUBLAS_STATUS_NOT_INITIALIZED);
  ZEROGRAPH_EQUAL(CUBLAS_STATUS_ALLOC_FAILED);
  ZEROGRAPH_EQUAL(CUBLAS_STATUS_INVALID_VALUE);
  ZEROGRAPH_EQUAL(CUBLAS_STATUS_EXECUTION_FAILED);
  ZEROGRAPH_EQUAL(CUBLAS_STATUS_NOT_SUPPORTED);
  ZEROGRAPH_EQUAL(CUDA_R_32F);
  ZEROGRAPH_EQUAL(CUDA_R_64F);
  ZEROGRAPH_EQUAL(CUDA_R_16F);
  ZEROGRAPH_EQUAL(CUDA_R_16BF);
  ZEROGRAPH_EQUAL(CUBLAS_COMPUTE_32F);
  ZEROGRAPH_EQUAL(CUBLAS_COMPUTE_32F_PEDANTIC);
  ZEROGRAPH_EQUAL(CUBLAS_COMPUTE_64F);
  ZEROGRAPH_EQUAL(CUBLAS_COMPUTE_32F_FAST_TF32);
  ZEROGRAPH_EQUAL(CUBLAS_OP_N);
  ZEROGRAPH_EQUAL(CUBLAS_OP_T);
  ZEROGRAPH_EQUAL(CUBLASLT_MATMUL_DESC_TRANSA);
  ZEROGRAPH_EQUAL(CUBLASLT_MATMUL_DESC_TRANSB);
  ZEROGRAPH_EQUAL(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  ZEROGRAPH_EQUAL(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  ZEROGRAPH_EQUAL(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  ZEROGRAPH_EQUAL(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  ZEROGRAPH_EQUAL(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  ZEROGRAPH_EQUAL(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  ZEROGRAPH_EQUAL(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  ZEROGRAPH_EQUAL(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  ZEROGRAPH_EQUAL(CUBLASLT_REDUCTION_SCHEME_NONE);
  ZEROGRAPH_EQUAL(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  ZEROGRAPH_EQUAL(CUBLASLT_ALGO_CONFIG_ID);
  ZEROGRAPH_EQUAL(CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  ZEROGRAPH_EQUAL(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
}

} // namespace

#else

TEST(CublasLtHeader, Functions) {
  GTEST_SKIP() << "there is no cublasLt.h in /usr/local/cuda/include: a CUDA "
                  "toolkit has it";
}

#endif
