//===- ProductsTest.cpp - generated products on CUDA ----------------------===//
//
// Products of every size of tile, whole and cut off, have the bits of the
// host's chains, and nothing in shared memory is read before it is there.
//
//===----------------------------------------------------------------------===//

#include "codegen/host/KernelModule.h"
#include "tests/codegen/CudaRun.h"
#include "tests/codegen/KernelRun.h"
#include "tests/support/Program.h"
#include "tests/support/Says.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;
using zerograph::expectSays;

namespace {

/// Says what a product adds to its elements.
enum class Added { nothing, into, bias };

struct Shape {
  int64_t batch, m, n, k;
  Added added = Added::nothing;
};

std::string textOf(const Shape &s, bool ta, bool tb, const std::string &type) {
  auto tensor = [&](int64_t rows, int64_t cols) {
    return "tensor<" + std::to_string(s.batch) + "x" + std::to_string(rows) +
           "x" + std::to_string(cols) + "x" + type + ">";
  };
  std::string a = ta ? tensor(s.k, s.m) : tensor(s.m, s.k);
  std::string b = tb ? tensor(s.n, s.k) : tensor(s.k, s.n);
  std::string c = tensor(s.m, s.n);
  std::string bias = "tensor<" + std::to_string(s.n) + "x" + type + ">";
  std::string added = s.added == Added::into   ? " into %c : " + c
                      : s.added == Added::bias ? " bias %v : " + bias
                                               : "";
  return "nn.program @f(%a: " + a + ", %b: " + b + ", %c: " + c +
         ", %v: " + bias + ") {\n %0 = nn.matmul %a, %b" +
         (ta ? " transpose_a" : "") + (tb ? " transpose_b" : "") + added +
         " : " + a + ", " + b + " -> " + c + "\n nn.return\n}";
}

/// Products of them lose bits, cancel, and now and then are denormal.
template <typename Float>
Bytes factors(size_t count, std::mt19937 &random) {
  static const Float rare[] = {Float(0), -Float(0), Float(1e-30), Float(-1e-20),
                               Float(1e18)};
  std::uniform_real_distribution<double> around(-3, 3);
  std::vector<Float> values(count);
  for (Float &value : values) {
    value = random() % 20 ? Float(around(random)) : rare[random() % 5];
  }
  Bytes bytes(count * sizeof(Float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Bytes onHost(nn::MatmulOp matmul, std::vector<Bytes> operands) {
  KernelModuleBuilder builder(matmul.getContext(), *parseHostTarget("native"));
  KernelInfo info = *builder.add(matmul);
  Library library(*builder.finish());
  Bytes result(nn::tensorBytes(matmul.getType()));
  std::vector<void *> buffers;
  for (Bytes &operand : operands) {
    buffers.push_back(operand.data());
  }
  buffers.push_back(result.data());
  library.find(info.symbol)(buffers.data(), 0, info.extent);
  return result;
}

/// A product, and what it multiplies.
struct Product {
  Product(const Shape &shape, bool ta, bool tb, const std::string &type)
      : program(textOf(shape, ta, tb, type)) {
    program.getModule().walk([&](nn::MatmulOp op) { matmul = op; });
    std::mt19937 random(3);
    for (Type operand : matmul->getOperandTypes()) {
      size_t count = size_t(cast<RankedTensorType>(operand).getNumElements());
      operands.push_back(type == "f64" ? factors<double>(count, random)
                                       : factors<float>(count, random));
    }
  }

  Program program;
  nn::MatmulOp matmul;
  std::vector<Bytes> operands;
};

void expectSameOnCuda(const Shape &shape, bool ta, bool tb,
                      const std::string &type) {
  SCOPED_TRACE(textOf(shape, ta, tb, type));
  Product product(shape, ta, tb, type);
  Bytes expected = onHost(product.matmul, product.operands);
  CudaKernels cuda({product.matmul});
  ASSERT_TRUE(cuda.ok());
  for (uint32_t seed : {1, 2}) {
    std::vector<Bytes> got = cuda.run(0, product.operands, seed);
    Type element = product.matmul.getType().getElementType();
    EXPECT_TRUE(sameBits(element, expected, got[0]));
  }
  EXPECT_THAT(inexactLines(cuda.ptx("sm_80")), ::testing::IsEmpty());
}

void expectSameTransposed(const Shape &shape, const std::string &type) {
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      expectSameOnCuda(shape, ta, tb, type);
    }
  }
}

TEST(Products, SmallTiles) {
  for (std::string type : {"f32", "f64"}) {
    expectSameTransposed({1, 1, 1, 1}, type);
    expectSameTransposed({1, 5, 3, 7}, type);
    expectSameTransposed({2, 33, 31, 17}, type);
    expectSameTransposed({3, 36, 64, 52}, type);
    expectSameTransposed({1, 32, 32, 32}, type);
  }
}

TEST(Products, MediumTiles) {
  expectSameTransposed({32, 70, 68, 20}, "f32");
  expectSameTransposed({32, 68, 67, 33}, "f64");
}

TEST(Products, LargeTiles) {
  expectSameTransposed({32, 130, 132, 20}, "f32");
  expectSameTransposed({32, 132, 129, 11}, "f32");
}

TEST(Products, AddedToAnOperand) {
  for (Added added : {Added::into, Added::bias}) {
    for (std::string type : {"f32", "f64"}) {
      expectSameTransposed({2, 33, 31, 17, added}, type);
      expectSameTransposed({3, 36, 64, 52, added}, type);
    }
    expectSameOnCuda({32, 132, 129, 11, added}, true, false, "f32");
  }
}

TEST(Products, AccessesOf128Bits) {
  Product product({1, 64, 64, 64}, false, true, "f32");
  CudaKernels cuda({product.matmul});
  ASSERT_TRUE(cuda.ok());
  expectSays(cuda.ptx("sm_80"), "ld.global.nc.v4.f32", "ld.shared.v4.f32",
             "st.global.v4.f32");
}

/// Whatever barrier is taken away, the emulator misses it.
TEST(Products, EveryBarrierIsNeeded) {
  Product product({1, 20, 20, 40}, false, false, "f32");
  CudaKernels cuda({product.matmul});
  ASSERT_TRUE(cuda.ok());
  EXPECT_EQ(cuda.expectNeeded("bar.sync", 0, product.operands), 3u);
}

} // namespace
