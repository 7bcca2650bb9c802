//===- ProductPartsTest.cpp - how cuBLASLt's products are cut -------------===//

#include "runtime/device/cuda/ProductParts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace zerograph;

namespace {

using Values = std::vector<double>;

struct Shape {
  uint64_t batch, m, n, k;
};

/// A product whose rows begin at multiples of 8 elements, with those of a
/// matrix at least one further than they need.
plan::Matmul productOf(const Shape &shape, bool transpose_a, bool transpose_b) {
  plan::Matmul matmul;
  matmul.set_element_type(plan::BF16);
  matmul.set_batch(shape.batch);
  matmul.set_m(shape.m);
  matmul.set_n(shape.n);
  matmul.set_k(shape.k);
  matmul.set_transpose_a(transpose_a);
  matmul.set_transpose_b(transpose_b);
  auto lead = [](const StoredMatrix &matrix) {
    return matrix.columns / 8 * 8 + 8;
  };
  StoredMatrices dense = matricesOf(matmul);
  matmul.set_lda(lead(dense.a));
  matmul.set_ldb(lead(dense.b));
  matmul.set_ldc(lead(dense.c));
  return matmul;
}

/// C = op(A) op(B) of a part, or C +=, perhaps plus its bias, by plain loops.
void multiply(const ProductPart &part, const Values &a, const Values &b,
              const Values &bias, Values &c) {
  const plan::Matmul &matmul = part.matmul;
  StoredMatrices stored = matricesOf(matmul);
  auto place = [](const StoredMatrix &matrix, uint64_t which, uint64_t row,
                  uint64_t column, bool transposed) {
    return which * matrix.stride +
           (transposed ? column : row) * matrix.leading +
           (transposed ? row : column);
  };
  for (uint64_t which = 0; which < matmul.batch(); ++which) {
    for (uint64_t i = 0; i < matmul.m(); ++i) {
      for (uint64_t j = 0; j < matmul.n(); ++j) {
        double sum = matmul.bias() ? bias[part.bias + j] : 0;
        for (uint64_t p = 0; p < matmul.k(); ++p) {
          sum +=
              a[part.a + place(stored.a, which, i, p, matmul.transpose_a())] *
              b[part.b + place(stored.b, which, p, j, matmul.transpose_b())];
        }
        double &result =
            c[part.c + place(stored.c, which, i, j, /*transposed=*/false)];
        result = part.adds ? result + sum : sum;
      }
    }
  }
}

/// Small whole numbers, whose sums are exact.
Values randomValues(uint64_t count, std::mt19937 &random) {
  Values values(count);
  for (double &value : values) {
    value = double(random() % 15) - 7;
  }
  return values;
}

TEST(ProductParts, AreTheWholeTogether) {
  std::mt19937 random(1);
  for (Shape shape : {Shape{1, 16, 133, 24},
                      {1, 16, 24, 133},
                      {1, 133, 16, 8},
                      {3, 129, 131, 135},
                      {2, 16, 16, 131}}) {
    for (int kind = 0; kind < 12; ++kind) {
      plan::Matmul matmul = productOf(shape, kind & 1, kind & 2);
      matmul.set_accumulate(kind & 4);
      matmul.set_bias(kind & 8);
      StoredMatrices stored = matricesOf(matmul);
      Values a = randomValues(shape.batch * stored.a.stride, random);
      Values b = randomValues(shape.batch * stored.b.stride, random);
      Values bias = randomValues(shape.n, random);
      Values expected(shape.batch * stored.c.stride, 0.5), c = expected;
      auto whole = cutProduct(matmul);
      ASSERT_EQ(whole.size(), 1u) << "too small to be cut";
      multiply(whole.front(), a, b, bias, expected);
      for (const ProductPart &part : cutProduct(matmul, /*worth=*/1)) {
        multiply(part, a, b, bias, c);
      }
      EXPECT_EQ(c, expected) << matmul.ShortDebugString();
    }
  }
}

/// Returns the sizes of the parts, as "m x n x k", and whether they add.
std::vector<std::string> sizesOf(const plan::Matmul &matmul) {
  std::vector<std::string> sizes;
  for (const ProductPart &part : cutProduct(matmul)) {
    sizes.push_back(std::to_string(part.matmul.m()) + " x " +
                    std::to_string(part.matmul.n()) + " x " +
                    std::to_string(part.matmul.k()) +
                    (part.adds ? ", added" : ""));
  }
  return sizes;
}

// The three products of GPT-2's head.
TEST(ProductParts, RowsEndAtMultiplesOf16Bytes) {
  plan::Matmul matmul = productOf({1, 8192, 50257, 768}, false, true);
  EXPECT_THAT(sizesOf(matmul),
              testing::ElementsAre("8192 x 50256 x 768", "8192 x 1 x 768"));
  matmul = productOf({1, 8192, 768, 50257}, false, false);
  EXPECT_THAT(
      sizesOf(matmul),
      testing::ElementsAre("8192 x 768 x 1", "8192 x 768 x 50256, added"));
  matmul = productOf({1, 50257, 768, 8192}, true, false);
  EXPECT_THAT(sizesOf(matmul),
              testing::ElementsAre("50256 x 768 x 8192", "1 x 768 x 8192"));
}

TEST(ProductParts, NothingIsCutWhereNothingIsGained) {
  plan::Matmul dense = productOf({1, 8192, 50257, 768}, false, true);
  dense.set_ldc(50257); // rows that begin anywhere
  EXPECT_EQ(cutProduct(dense).size(), 1u);
  // No rows of a matrix are counted by m.
  EXPECT_EQ(cutProduct(productOf({1, 8191, 50256, 768}, false, true)).size(),
            1u);
  // Each would leave a product of its own.
  EXPECT_EQ(cutProduct(productOf({96, 1023, 1023, 64}, false, true)).size(),
            1u);
  // The sum of the terms that are left over could be infinite.
  plan::Matmul half = productOf({1, 8192, 768, 50257}, false, false);
  half.set_element_type(plan::F16);
  EXPECT_EQ(cutProduct(half).size(), 1u);
  half.set_result_type(plan::F32);
  EXPECT_EQ(cutProduct(half).size(), 2u);
  // Much of it would be left over.
  EXPECT_EQ(cutProduct(productOf({1, 1 << 20, 9, 768}, false, true)).size(),
            1u);
}

} // namespace
