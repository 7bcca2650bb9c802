//===- MatmulTest.cpp - oneDNN products against plain loops ---------------===//

#include "HostRun.h"

#include "runtime/device/host/MatmulLibrary.h"
#include "runtime/plan/Matrices.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

struct Shape {
  uint64_t batch, m, n, k;
  bool transpose_a = false, transpose_b = false;
};

/// A product and its operands.
struct Case {
  explicit Case(const Shape &shape) : shape(shape) {
    matmul.set_element_type(plan::F32);
    matmul.set_batch(shape.batch);
    matmul.set_m(shape.m);
    matmul.set_n(shape.n);
    matmul.set_k(shape.k);
    matmul.set_transpose_a(shape.transpose_a);
    matmul.set_transpose_b(shape.transpose_b);
    auto bytes = scratchBytes(matmul);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    scratch_bytes = bytes.value_or(0);
    scratch.resize(scratch_bytes + 64);
    std::mt19937 random(7);
    std::uniform_real_distribution<float> values(-1, 1);
    a.resize(shape.batch * shape.m * shape.k);
    b.resize(shape.batch * shape.k * shape.n);
    c.assign(shape.batch * shape.m * shape.n, -7);
    bias.resize(shape.n);
    for (auto *operand : {&a, &b, &bias}) {
      for (float &value : *operand) {
        value = values(random);
      }
    }
  }

  /// On a stream with `workers` threads.
  std::vector<float> run(unsigned workers) {
    auto address = reinterpret_cast<uintptr_t>(scratch.data());
    HostRun host(1, workers);
    plan::Step step;
    *step.mutable_matmul() = matmul;
    auto &ranges = host.add(0, {}, step).ranges;
    ranges = {host.range(a.data(), a.size() * sizeof(float)),
              host.range(b.data(), b.size() * sizeof(float)),
              host.range(c.data(), c.size() * sizeof(float))};
    if (matmul.bias()) {
      ranges.push_back(host.range(bias.data(), bias.size() * sizeof(float)));
    }
    ranges.push_back(host.range(
        reinterpret_cast<void *>((address + 63) / 64 * 64), scratch_bytes));
    EXPECT_TRUE(host.bind().ok());
    EXPECT_TRUE(host.run().ok());
    return c;
  }

  /// Multiplies what lies elsewhere, perhaps of other types, on this thread.
  void multiply(const MatmulAddresses &at,
                Packing packing = Packing::automatic) const {
    auto bytes = scratchBytes(matmul, packing).value();
    std::vector<std::byte> room(bytes + 64);
    auto address = reinterpret_cast<uintptr_t>(room.data());
    auto call = bindMatmul(matmul, at,
                           reinterpret_cast<void *>((address + 63) / 64 * 64),
                           bytes, packing);
    ASSERT_TRUE(call.ok()) << call.status();
    for (unsigned part = 0; part < (*call)->parts(); ++part) {
      ASSERT_TRUE((*call)->run(part).ok());
    }
  }

  /// Largest error against float64.
  double error() const {
    double worst = 0;
    for (uint64_t row = 0; row < shape.batch * shape.m; ++row) {
      for (uint64_t j = 0; j < shape.n; ++j) {
        double expected = exact(row / shape.m, row % shape.m, j);
        worst = std::max(worst, std::abs(c[row * shape.n + j] - expected));
      }
    }
    return worst;
  }

  double exact(uint64_t batch, uint64_t i, uint64_t j) const {
    const float *at_a = a.data() + batch * shape.m * shape.k;
    const float *at_b = b.data() + batch * shape.k * shape.n;
    double sum = matmul.bias() ? bias[j] : 0;
    for (uint64_t p = 0; p < shape.k; ++p) {
      sum +=
          double(at_a[shape.transpose_a ? p * shape.m + i : i * shape.k + p]) *
          at_b[shape.transpose_b ? j * shape.k + p : p * shape.n + j];
    }
    return sum;
  }

  Shape shape;
  plan::Matmul matmul;
  std::vector<float> a, b, c, bias;
  std::vector<std::byte> scratch;
  uint64_t scratch_bytes = 0;
};

/// Rounds to bf16, and `values` too.
std::vector<uint16_t> halvesOf(std::vector<float> &values) {
  std::vector<uint16_t> halves;
  for (float &value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    std::memcpy(&value, &bits, 4);
    halves.push_back(uint16_t(bits >> 16));
  }
  return halves;
}

std::vector<float> floatsOf(const std::vector<uint16_t> &halves) {
  std::vector<float> values;
  for (uint16_t half : halves) {
    uint32_t bits = uint32_t(half) << 16;
    values.emplace_back();
    std::memcpy(&values.back(), &bits, 4);
  }
  return values;
}

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      all.push_back({1, 1, 1, 1, ta, tb});
      all.push_back({1, 17, 33, 5, ta, tb});
      all.push_back({1, 1, 129, 64, ta, tb});
      all.push_back({1, 129, 1, 64, ta, tb});
      all.push_back({1, 128, 384, 128, ta, tb});
      all.push_back({1, 300, 70, 256, ta, tb});
      all.push_back({1, 64, 1024, 96, ta, tb}); // rows of B 4 KiB apart
      all.push_back({1, 8, 2048, 300, ta, tb});
      all.push_back({1, 130, 450, 300, ta, tb}); // both of its sides are cut
      all.push_back({12, 64, 64, 32, ta, tb});
      all.push_back({3, 160, 200, 128, ta, tb});
      all.push_back({2, 20, 1024, 16, ta, tb});
    }
  }
  return all;
}

TEST(MatmulTest, ProductsAreRightForShapesAndTransposes) {
  for (const Shape &shape : shapes()) {
    Case one(shape);
    one.run(1);
    EXPECT_LT(one.error(), 1e-6 * double(shape.k) + 1e-5)
        << shape.batch << " x " << shape.m << " x " << shape.n << " x "
        << shape.k << " transposes " << shape.transpose_a << shape.transpose_b;
  }
}

TEST(MatmulTest, TheBitsDoNotDependOnThreads) {
  for (const Shape &shape : shapes()) {
    Case one(shape), three(shape);
    EXPECT_EQ(one.run(1), three.run(3));
  }
}

/// Rows of `columns` values, `leading` apart, with -7 between.
std::vector<float> spread(const std::vector<float> &dense, uint64_t columns,
                          uint64_t leading) {
  std::vector<float> apart(dense.size() / columns * leading, -7);
  for (uint64_t row = 0; row * columns < dense.size(); ++row) {
    std::copy_n(dense.begin() + int64_t(row * columns), columns,
                apart.begin() + int64_t(row * leading));
  }
  return apart;
}

/// Nothing between rows is read or written.
TEST(MatmulTest, RowsThatLieApart) {
  for (const Shape &shape : shapes()) {
    Case dense(shape), apart(shape);
    StoredMatrices stored = matricesOf(dense.matmul);
    auto lead = [](const StoredMatrix &matrix) { return matrix.columns + 3; };
    apart.matmul.set_lda(lead(stored.a));
    apart.matmul.set_ldb(lead(stored.b));
    apart.matmul.set_ldc(lead(stored.c));
    apart.a = spread(dense.a, stored.a.columns, lead(stored.a));
    apart.b = spread(dense.b, stored.b.columns, lead(stored.b));
    apart.c = spread(dense.c, stored.c.columns, lead(stored.c));
    apart.scratch_bytes = scratchBytes(apart.matmul).value();
    apart.scratch.resize(apart.scratch_bytes + 64);
    std::vector<float> expected =
        spread(dense.run(1), stored.c.columns, lead(stored.c));
    std::vector<float> got = apart.run(2);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], 1e-5 * std::sqrt(double(shape.k)));
    }
  }
}

/// The sum of products is added to what C has, whatever the number of threads.
TEST(MatmulTest, ProductsAreAddedToWhatIsThere) {
  for (const Shape &shape : shapes()) {
    Case plain(shape), one(shape), three(shape);
    std::vector<float> expected = plain.run(1);
    for (Case *sum : {&one, &three}) {
      sum->matmul.set_accumulate(true);
      sum->scratch_bytes = scratchBytes(sum->matmul).value();
      sum->scratch.resize(sum->scratch_bytes + 64);
    }
    std::vector<float> got = one.run(1);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i] - 7, 1e-5) << "C began as -7";
    }
    EXPECT_EQ(three.run(3), got);
  }
}

/// Packing changes where B is read from and nothing else.
TEST(MatmulTest, PackingDoesNotChangeTheBits) {
  for (const Shape &shape : shapes()) {
    Case one(shape);
    std::vector<float> expected = one.run(1);
    std::fill(one.c.begin(), one.c.end(), -7);
    one.multiply({one.a.data(), one.b.data(), one.c.data()}, Packing::always);
    EXPECT_EQ(one.c, expected)
        << shape.m << " x " << shape.n << " x " << shape.k;
  }
}

TEST(MatmulTest, RepeatedRunsHaveTheSameBits) {
  Case one({1, 64, 1024, 96});
  std::vector<float> first = one.run(2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(one.run(2), first);
  }
}

TEST(MatmulTest, PartsFollowFromTheShape) {
  auto count = [](uint64_t batch, uint64_t m, uint64_t n, uint64_t k) {
    return cutMatmul(batch, m, n, k).size();
  };
  EXPECT_EQ(count(1, 8, 8, 8), 1u);
  EXPECT_EQ(count(1, 256, 3072, 768), 8u);
  EXPECT_EQ(count(96, 64, 64, 64), 6u);
  EXPECT_EQ(count(1, 50257, 64, 768), 8u);
  EXPECT_EQ(count(3, 512, 512, 512), 6u);
}

/// The parts read as little as they can, and none is narrow.
TEST(MatmulTest, RowsAndColumnsAreDividedByTheirNumber) {
  struct {
    uint64_t m, n, rows, columns;
  } cases[] = {{256, 3072, 1, 8},  {3072, 768, 8, 1}, {256, 768, 2, 4},
               {1024, 768, 4, 2},  {768, 768, 4, 2},  {1024, 3072, 2, 4},
               {256, 50257, 1, 8}, {100, 96, 4, 1},   {16, 128, 1, 1},
               {64, 2048, 1, 8},   {4096, 64, 8, 1}};
  for (const auto &one : cases) {
    std::vector<MatmulPart> parts = cutMatmul(1, one.m, one.n, /*k=*/8192);
    std::set<uint64_t> rows, columns;
    for (const MatmulPart &part : parts) {
      rows.insert(part.m_begin);
      columns.insert(part.n_begin);
      EXPECT_EQ(part.m_begin % 16 + part.n_begin % 64, 0u);
      EXPECT_GE(part.n_end - part.n_begin, std::min<uint64_t>(one.n, 192));
    }
    EXPECT_EQ(rows.size(), one.rows) << one.m << " x " << one.n;
    EXPECT_EQ(columns.size(), one.columns) << one.m << " x " << one.n;
    EXPECT_EQ(parts.size(), one.rows * one.columns);
  }
}

/// Every element of C is in one part.
TEST(MatmulTest, PartsCoverTheResultOnce) {
  for (const Shape &shape : shapes()) {
    std::vector<int> covered(shape.batch * shape.m * shape.n);
    for (const MatmulPart &part :
         cutMatmul(shape.batch, shape.m, shape.n, shape.k)) {
      for (uint64_t batch = part.batch_begin; batch < part.batch_end; ++batch) {
        for (uint64_t i = part.m_begin; i < part.m_end; ++i) {
          for (uint64_t j = part.n_begin; j < part.n_end; ++j) {
            ++covered.at((batch * shape.m + i) * shape.n + j);
          }
        }
      }
    }
    EXPECT_EQ(std::count(covered.begin(), covered.end(), 1),
              std::ptrdiff_t(covered.size()));
  }
}

/// A product of bf16 of all shapes, to bf16 and to f32, with any number of
/// threads: each sum is f32's, and rounded once.
TEST(MatmulTest, Bf16IsAddedInF32) {
  if (!multipliesBf16()) {
    GTEST_SKIP() << "no instructions for bf16";
  }
  for (const Shape &shape : shapes()) {
    Case one(shape);
    std::vector<uint16_t> a = halvesOf(one.a), b = halvesOf(one.b);
    std::vector<float> sums[2];
    for (plan::ElementType type : {plan::F32, plan::BF16}) {
      one.matmul.set_element_type(plan::BF16);
      one.matmul.set_result_type(type);
      auto bytes = scratchBytes(one.matmul).value();
      one.scratch.resize(bytes + 64);
      auto address = reinterpret_cast<uintptr_t>(one.scratch.data());
      std::vector<float> first;
      for (unsigned workers : {1u, 3u}) {
        HostRun host(1, workers);
        plan::Step step;
        *step.mutable_matmul() = one.matmul;
        uint64_t size = type == plan::F32 ? 4 : 2;
        host.add(0, {}, step).ranges = {
            host.range(a.data(), a.size() * 2),
            host.range(b.data(), b.size() * 2),
            host.range(one.c.data(), one.c.size() * size),
            host.range(reinterpret_cast<void *>((address + 63) / 64 * 64),
                       bytes)};
        EXPECT_TRUE(host.bind().ok());
        EXPECT_TRUE(host.run().ok());
        if (type == plan::BF16) {
          auto *halves = reinterpret_cast<uint16_t *>(one.c.data());
          one.c = floatsOf({halves, halves + one.c.size()});
        }
        EXPECT_TRUE(first.empty() || first == one.c);
        first = one.c;
      }
      EXPECT_LT(one.error(), type == plan::F32 ? 2e-5 : 0.1);
      sums[type == plan::BF16] = one.c;
    }
    EXPECT_EQ(floatsOf(halvesOf(sums[0])), sums[1]);
  }
}

/// Sums in f32 of products of bf16 are added as those of f32 are.
TEST(MatmulTest, ProductsOfBf16AreAddedToF32) {
  if (!multipliesBf16()) {
    GTEST_SKIP() << "no instructions for bf16";
  }
  for (const Shape &shape : shapes()) {
    Case one(shape);
    std::vector<uint16_t> a = halvesOf(one.a), b = halvesOf(one.b);
    one.matmul.set_element_type(plan::BF16);
    one.matmul.set_result_type(plan::F32);
    one.matmul.set_accumulate(true);
    std::fill(one.c.begin(), one.c.end(), 3);
    one.multiply({a.data(), b.data(), one.c.data()});
    for (float &value : one.c) {
      value -= 3;
    }
    EXPECT_LT(one.error(), 3e-5);
  }
}

TEST(MatmulTest, AddsABias) {
  for (const Shape &shape : shapes()) {
    Case one(shape);
    one.matmul.set_bias(true);
    one.run(2);
    EXPECT_LT(one.error(), 3e-5) << one.matmul.ShortDebugString();
  }
}

// Sums are rounded once, after the bias.
TEST(MatmulTest, AddsABiasToHalves) {
  if (!multipliesBf16()) {
    GTEST_SKIP() << "no instructions for bf16";
  }
  for (plan::ElementType result : {plan::BF16, plan::F32}) {
    for (const Shape &shape : shapes()) {
      Case one(shape);
      std::vector<uint16_t> a = halvesOf(one.a), b = halvesOf(one.b);
      std::vector<uint16_t> bias = halvesOf(one.bias), c(one.c.size());
      bool wide = result == plan::F32;
      one.matmul.set_element_type(plan::BF16);
      one.matmul.set_result_type(result);
      one.matmul.set_bias(true);
      one.multiply({a.data(), b.data(),
                    wide ? static_cast<void *>(one.c.data()) : c.data(),
                    wide ? static_cast<void *>(one.bias.data()) : bias.data()});
      if (!wide) {
        one.c = floatsOf(c);
      }
      double most = 0;
      for (float value : one.c) {
        most = std::max(most, double(std::abs(value)));
      }
      EXPECT_LT(one.error(), wide ? 3e-5 : most / 256)
          << one.matmul.ShortDebugString();
    }
  }
}

TEST(MatmulTest, WhatTheLibraryCannotDoIsSaid) {
  Case wide({1, 4, 4, 4});
  wide.matmul.set_element_type(plan::F64);
  auto bytes = scratchBytes(wide.matmul);
  expectSays(bytes.status(), "found F64");

  // A plan made for another machine may have other scratch: more than needed,
  // whatever this one's library needs.
  Case packed({1, 64, 1024, 96});
  auto bound = bindMatmul(packed.matmul,
                          {packed.a.data(), packed.b.data(), packed.c.data()},
                          packed.scratch.data(), packed.scratch_bytes + 64);
  expectSays(bound.status(), "bytes of scratch");
}

TEST(MatmulTest, TheLibraryIsNamed) {
  EXPECT_EQ(libraryVersion().rfind("oneDNN ", 0), 0u);
  EXPECT_FALSE(effectiveIsa().empty());
}

} // namespace
