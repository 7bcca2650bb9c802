//===- MatmulTest.cpp - oneDNN products against plain loops ---------------===//

#include "HostRun.h"

#include "runtime/device/host/MatmulLibrary.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

struct Shape {
  uint64_t batch, m, n, k;
  bool transpose_a = false, transpose_b = false;
  uint64_t padding = 0;  // elements after each stored row
  bool shared_b = false; // one B for the whole batch
};

/// A product and its operands.
struct Case {
  explicit Case(const Shape &shape) : shape(shape) {
    matmul.set_type(plan::F32);
    matmul.set_batch(shape.batch);
    matmul.set_m(shape.m);
    matmul.set_n(shape.n);
    matmul.set_k(shape.k);
    matmul.set_transpose_a(shape.transpose_a);
    matmul.set_transpose_b(shape.transpose_b);
    matmul.set_lda((shape.transpose_a ? shape.m : shape.k) + shape.padding);
    matmul.set_ldb((shape.transpose_b ? shape.k : shape.n) + shape.padding);
    matmul.set_ldc(shape.n + shape.padding);
    matmul.set_a_stride(matmul.lda() * (shape.transpose_a ? shape.k : shape.m));
    uint64_t b_elements =
        matmul.ldb() * (shape.transpose_b ? shape.n : shape.k);
    matmul.set_b_stride(shape.shared_b ? 0 : b_elements);
    matmul.set_c_stride(matmul.ldc() * shape.m);
    for (plan::MatmulPart &part :
         cutMatmul(shape.batch, shape.m, shape.n, shape.k)) {
      *matmul.add_parts() = part;
    }
    auto bytes = scratchBytes(matmul);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    matmul.set_scratch_stride(bytes.value_or(0));
    scratch.resize(matmul.scratch_stride() * uint64_t(matmul.parts_size()) +
                   64);
    std::mt19937 random(7);
    std::uniform_real_distribution<float> values(-1, 1);
    a.resize(shape.batch * matmul.a_stride());
    b.resize((shape.shared_b ? 1 : shape.batch) * b_elements);
    c.assign(shape.batch * matmul.c_stride(), -7);
    for (auto *operand : {&a, &b}) {
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
    host.add(0, {}, step).ranges = {
        host.range(a.data(), a.size() * sizeof(float)),
        host.range(b.data(), b.size() * sizeof(float)),
        host.range(c.data(), c.size() * sizeof(float)),
        host.range(reinterpret_cast<void *>((address + 63) / 64 * 64),
                   scratch.size() - 64)};
    EXPECT_TRUE(host.bind().ok());
    EXPECT_TRUE(host.run().ok());
    return c;
  }

  /// Largest error against float64, and whether padding was left alone.
  double error() const {
    double worst = 0;
    for (uint64_t batch = 0; batch < shape.batch; ++batch) {
      for (uint64_t i = 0; i < shape.m; ++i) {
        for (uint64_t j = 0; j < shape.n + shape.padding; ++j) {
          float got = c[batch * matmul.c_stride() + i * matmul.ldc() + j];
          double expected = j < shape.n ? exact(batch, i, j) : -7;
          worst = std::max(worst, std::abs(got - expected));
        }
      }
    }
    return worst;
  }

  double exact(uint64_t batch, uint64_t i, uint64_t j) const {
    double sum = 0;
    for (uint64_t p = 0; p < shape.k; ++p) {
      uint64_t at_a =
          shape.transpose_a ? p * matmul.lda() + i : i * matmul.lda() + p;
      uint64_t at_b =
          shape.transpose_b ? j * matmul.ldb() + p : p * matmul.ldb() + j;
      sum += double(a[batch * matmul.a_stride() + at_a]) *
             b[batch * matmul.b_stride() + at_b];
    }
    return sum;
  }

  Shape shape;
  plan::Matmul matmul;
  std::vector<float> a, b, c;
  std::vector<std::byte> scratch;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      all.push_back({1, 1, 1, 1, ta, tb});
      all.push_back({1, 17, 33, 5, ta, tb});
      all.push_back({1, 1, 129, 64, ta, tb, 3});
      all.push_back({1, 129, 1, 64, ta, tb, 3});
      all.push_back({1, 128, 384, 128, ta, tb});
      all.push_back({1, 300, 70, 256, ta, tb, 16});
      all.push_back({1, 64, 1024, 96, ta, tb}); // rows of B 4 KiB apart
      all.push_back({1, 8, 2048, 300, ta, tb});
      all.push_back({12, 64, 64, 32, ta, tb});
      all.push_back({3, 160, 200, 128, ta, tb, 1});
      all.push_back({2, 20, 1024, 16, ta, tb, 0, true});
    }
  }
  return all;
}

TEST(MatmulTest, ProductsAreRightForShapesTransposesAndStrides) {
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

/// Packing changes where B is read from and nothing else.
TEST(MatmulTest, PackingDoesNotChangeTheBits) {
  for (const Shape &shape : shapes()) {
    Case one(shape);
    std::vector<float> expected = one.run(1);
    auto bytes = scratchBytes(one.matmul, Packing::always);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    one.matmul.set_scratch_stride(*bytes);
    uint64_t all = *bytes * uint64_t(one.matmul.parts_size());
    std::vector<std::byte> scratch(all + 64);
    auto address = reinterpret_cast<uintptr_t>(scratch.data());
    std::fill(one.c.begin(), one.c.end(), -7);
    auto call = bindMatmul(one.matmul, one.a.data(), one.b.data(), one.c.data(),
                           reinterpret_cast<void *>((address + 63) / 64 * 64),
                           all, Packing::always);
    ASSERT_TRUE(call.ok()) << call.status();
    for (unsigned part = 0; part < (*call)->parts(); ++part) {
      ASSERT_TRUE((*call)->run(part).ok());
    }
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

TEST(MatmulTest, PartsFollowFromTheShapeAlone) {
  EXPECT_EQ(cutMatmul(1, 8, 8, 8).size(), 1u);
  EXPECT_EQ(cutMatmul(1, 256, 3072, 768).size(), 8u);
  EXPECT_EQ(cutMatmul(96, 64, 64, 64).size(), 6u);
  EXPECT_EQ(cutMatmul(1, 50257, 64, 768).size(), 8u);
  EXPECT_EQ(cutMatmul(3, 512, 512, 512).size(), 6u);
  for (const plan::MatmulPart &part : cutMatmul(1, 256, 3072, 768)) {
    EXPECT_EQ(part.n_begin() % 64, 0u);
    EXPECT_EQ(part.m_end() - part.m_begin(), 256u);
  }
}

TEST(MatmulTest, OtherPartsAreRefused) {
  Case one({1, 8, 8, 8});
  auto refusal = [&]() {
    auto call = bindMatmul(one.matmul, one.a.data(), one.b.data(), one.c.data(),
                           one.scratch.data(), one.scratch.size());
    return call.ok() ? "fine" : std::string(call.status().message());
  };
  EXPECT_EQ(refusal(), "fine");
  one.matmul.mutable_parts(0)->set_n_end(4);
  EXPECT_NE(refusal().find("columns 0 to 4; its shape is cut so that it is "
                           "matrices 0 to 1, rows 0 to 8, columns 0 to 8"),
            std::string::npos)
      << refusal();
  *one.matmul.add_parts() = one.matmul.parts(0);
  one.matmul.mutable_parts(1)->set_n_begin(4);
  one.matmul.mutable_parts(1)->set_n_end(8);
  EXPECT_NE(refusal().find("into 2 parts; its shape is cut into 1"),
            std::string::npos)
      << refusal();
}

TEST(MatmulTest, WhatTheLibraryCannotDoIsSaid) {
  Case wide({1, 4, 4, 4});
  wide.matmul.set_type(plan::F64);
  auto bytes = scratchBytes(wide.matmul);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.status().message().find("found F64"), std::string::npos);

  // A plan made for another machine may give too little scratch.
  Case packed({1, 64, 1024, 96});
  packed.matmul.set_scratch_stride(0);
  auto bound = bindMatmul(packed.matmul, packed.a.data(), packed.b.data(),
                          packed.c.data(), nullptr, 0, Packing::always);
  ASSERT_FALSE(bound.ok());
  EXPECT_NE(bound.status().message().find("bytes of scratch"),
            std::string::npos);
}

TEST(MatmulTest, TheLibraryIsNamed) {
  EXPECT_EQ(libraryVersion().rfind("oneDNN ", 0), 0u);
  EXPECT_FALSE(effectiveIsa().empty());
}

} // namespace
