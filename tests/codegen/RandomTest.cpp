//===- RandomTest.cpp - random numbers that kernels make ------------------===//

#include "tests/codegen/KernelRun.h"

#include "runtime/state/Philox.h"

#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

/// `count` numbers of the op `number`: element i has the index base + i.
std::string drawing(int64_t count, uint64_t number) {
  std::string n = std::to_string(count);
  std::string wide = "tensor<" + n + "xi64>";
  return "nn.program @f(%b: tensor<1xi64>, %s: tensor<1xi64>, "
         "%t: tensor<1xi64>) {\n"
         "  %0 = nn.kernel rows (%base = %b, %seed = %s, %step = %t) : "
         "(tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<" +
         n +
         "xf32> {\n"
         "    %i = nn.iota 0 : " +
         wide + "\n    %1 = nn.broadcast %base : tensor<1xi64> -> " + wide +
         "\n    %2 = nn.broadcast %seed : tensor<1xi64> -> " + wide +
         "\n    %3 = nn.broadcast %step : tensor<1xi64> -> " + wide +
         "\n    %4 = nn.binary add %i, %1 : " + wide +
         "\n    %5 = nn.random_uniform %2, %3, %4 number " +
         std::to_string(number) + " : " + wide + " -> tensor<" + n +
         "xf32>\n    nn.yield %5 : tensor<" + n + "xf32>\n  }\n  nn.return\n}";
}

Bytes whole(uint64_t value) {
  Bytes bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::vector<float> draw(CompiledKernel &kernel, uint64_t base, uint64_t seed,
                        uint64_t step, ArrayRef<int64_t> cuts = {}) {
  Bytes bytes =
      kernel.run({whole(base), whole(seed), whole(step)}, cuts).front();
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

float uniform(uint32_t word) { return float(word >> 8) * 0x1p-24f; }

// The known answers that Random123 comes with.
TEST(Random, KnownAnswers) {
  struct Answer {
    uint64_t index, number, step, seed;
    uint32_t first;
  } answers[] = {
      {0, 0, 0, 0, 0x6627e8d5},
      {~uint64_t(0), 0xffffffff, 0xffffffff, ~uint64_t(0), 0x408f276d},
      {0x85a308d3243f6a88, 0x13198a2e, 0x03707344, 0x299f31d0a4093822,
       0xd16cfe09},
  };
  for (const Answer &answer : answers) {
    CompiledKernel kernel(drawing(1, answer.number));
    ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
    EXPECT_EQ(draw(kernel, answer.index, answer.seed, answer.step)[0],
              uniform(answer.first));
  }
}

// In the body and the tail of vectors, past 2^32, for AVX2, and however the
// range is cut: the numbers of the runtime's Philox.
TEST(Random, IsTheRuntimesPhilox) {
  constexpr int64_t kCount = 1003;
  constexpr uint64_t kNumber = 0xfedcba98, kBase = 0xfffffff0;
  constexpr uint64_t kSeed = 0x89abcdef01234567, kStep = 0x700000009;
  for (const char *target : {"native", "x86-64-v3"}) {
    CompiledKernel kernel(drawing(kCount, kNumber), target);
    ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
    for (int64_t cut : {int64_t(0), kernel.info().grain}) {
      std::vector<float> numbers = draw(kernel, kBase, kSeed, kStep, {cut});
      for (int64_t i = 0; i < kCount; ++i) {
        uint64_t index = kBase + i;
        auto bits = zerograph::philox({uint32_t(index), uint32_t(index >> 32),
                                       uint32_t(kNumber), uint32_t(kStep)},
                                      {uint32_t(kSeed), uint32_t(kSeed >> 32)});
        ASSERT_EQ(numbers[i], uniform(bits[0])) << target << " " << i;
      }
    }
  }
}

double mean(const std::vector<float> &numbers) {
  double sum = 0;
  for (float number : numbers) {
    sum += number;
  }
  return sum / numbers.size();
}

/// The correlation of uniform numbers, in standard deviations of that of
/// independent ones.
double correlation(const std::vector<float> &a, const std::vector<float> &b,
                   size_t lag = 0) {
  double sum = 0;
  size_t count = a.size() - lag;
  for (size_t i = 0; i < count; ++i) {
    sum += (a[i + lag] - 0.5) * (b[i] - 0.5);
  }
  return 12 * sum / std::sqrt(double(count));
}

// Takes a million draws: mean, variance and the shares that dropouts keep lie
// within five standard deviations; no correlation with the draws that follow,
// those of another op, step or seed.
TEST(Random, LooksUniformAndIndependent) {
  constexpr int64_t kCount = 1 << 20;
  CompiledKernel kernel(drawing(kCount, 3)), next(drawing(kCount, 4));
  ASSERT_TRUE(kernel.ok() && next.ok());
  std::vector<float> numbers = draw(kernel, 0, 1, 1);
  double n = kCount, squares = 0;
  for (float number : numbers) {
    ASSERT_GE(number, 0);
    ASSERT_LT(number, 1);
    squares += (number - 0.5) * (number - 0.5);
  }
  EXPECT_LE(std::abs(mean(numbers) - 0.5), 5 / std::sqrt(12 * n));
  EXPECT_LE(std::abs(squares / n - 1 / 12.0), 5 / std::sqrt(180 * n));
  for (double ratio : {0.1, 0.5, 0.9}) {
    double kept = 0, sum = 0;
    for (float number : numbers) {
      kept += number >= float(ratio);
      sum += number >= float(ratio) ? 1 / (1 - ratio) : 0;
    }
    double deviation = std::sqrt(ratio * (1 - ratio) / n);
    EXPECT_LE(std::abs(kept / n - (1 - ratio)), 5 * deviation) << ratio;
    EXPECT_LE(std::abs(sum / n - 1), 5 * deviation / (1 - ratio)) << ratio;
  }
  EXPECT_LE(std::abs(correlation(numbers, numbers, 1)), 5);
  EXPECT_LE(std::abs(correlation(numbers, numbers, 16)), 5);
  EXPECT_LE(std::abs(correlation(numbers, draw(next, 0, 1, 1))), 5);
  EXPECT_LE(std::abs(correlation(numbers, draw(kernel, 0, 1, 2))), 5);
  EXPECT_LE(std::abs(correlation(numbers, draw(kernel, 0, 2, 1))), 5);
}

} // namespace
