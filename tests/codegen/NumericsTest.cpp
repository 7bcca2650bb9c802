//===- NumericsTest.cpp - what the bits of a result depend on -------------===//
//
// The order of a row's reduction, max and min of zeros and NaN, and integers
// of floats that have none: stated here, in plain loops, for every device.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/KernelRun.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
Bytes bytesOf(const std::vector<T> &values) {
  const char *begin = reinterpret_cast<const char *>(values.data());
  return Bytes(begin, begin + values.size() * sizeof(T));
}

template <typename T>
std::vector<T> valuesOf(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::string tensor(const std::string &shape, const std::string &element) {
  return "tensor<" + shape + "x" + element + ">";
}

/// A kernel of `form` whose body is `%r = op` on `%a`, and on `%b` of the same
/// type.
std::string kernelText(const std::string &form, const std::string &operand,
                       const std::string &result, const std::string &op) {
  return "nn.program @f(%x: " + operand + ", %y: " + operand +
         ") {\n %0 = nn.kernel " + form + " (%a = %x, %b = %y) : (" + operand +
         ", " + operand + ") -> " + result + " {\n %r = " + op +
         "\n nn.yield %r : " + result + "\n }\n nn.return\n}";
}

/// Result 0, by the machine's code and by AVX2 code: twice what a test checks.
std::vector<Bytes> resultsOf(const std::string &text,
                             const std::vector<Bytes> &arguments) {
  std::vector<Bytes> results;
  for (const char *target : {"native", "x86-64-v3"}) {
    CompiledKernel kernel(text, target);
    EXPECT_TRUE(kernel.ok()) << text << "\n" << kernel.diagnostics();
    if (kernel.ok()) {
      results.push_back(kernel.run(arguments)[0]);
    }
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Long rows
//===----------------------------------------------------------------------===//

/// 64 chains, column mod 64; four vectors of them to one, then 16 lanes to one.
float sumOfSegment(const float *row, int64_t cols) {
  std::array<float, 64> chain{};
  for (int64_t c = 0; c < cols; ++c) {
    chain[c % 64] += row[c];
  }
  std::array<float, 16> lane;
  for (int i = 0; i < 16; ++i) {
    lane[i] = (chain[i] + chain[16 + i]) + (chain[32 + i] + chain[48 + i]);
  }
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) {
      lane[i] += lane[width + i];
    }
  }
  return lane[0];
}

float sumOfRow(const float *row, int64_t cols) {
  float total = 0;
  for (int64_t first = 0; first < cols; first += 4096) {
    total += sumOfSegment(row + first, std::min<int64_t>(4096, cols - first));
  }
  return total;
}

TEST(LongRows, SegmentsFoldInOrder) {
  for (int64_t cols : {1000, 4095, 4096, 4097, 4159, 4160, 8191, 8192, 8193,
                       12345, 50257, 300000}) {
    int64_t rows = cols < 10000 ? 3 : 1;
    std::string r = std::to_string(rows);
    std::string row = tensor(r + "x" + std::to_string(cols), "f32");
    std::string one = tensor(r + "x1", "f32");
    std::mt19937 random(cols);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> x(rows * cols);
    std::generate(x.begin(), x.end(), [&] { return uniform(random); });
    for (const Bytes &result :
         resultsOf(kernelText("rows", row, one,
                              "nn.reduce sum %a [1] : " + row + " -> " + one),
                   {bytesOf(x), bytesOf(x)})) {
      std::vector<float> sums = valuesOf<float>(result);
      for (int64_t i = 0; i < rows; ++i) {
        EXPECT_EQ(sums[i], sumOfRow(x.data() + i * cols, cols))
            << "row " << i << " of " << cols << " columns";
      }
    }
  }
}

// Several reductions of one sweep, and stores in the last: none disturbs
// another, nor the row that they are made of.
TEST(LongRows, WhatIsFusedAroundChangesNoBit) {
  const char *text = R"(
nn.program @f(%x: tensor<2x9001xf32>) {
  %0:4 = nn.kernel rows (%a = %x) : (tensor<2x9001xf32>) -> (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x9001xf32>) {
    %s = nn.reduce sum %a [1] : tensor<2x9001xf32> -> tensor<2x1xf32>
    %m = nn.reduce max %a [1] : tensor<2x9001xf32> -> tensor<2x1xf32>
    %b = nn.broadcast %m : tensor<2x1xf32> -> tensor<2x9001xf32>
    %d = nn.binary sub %a, %b : tensor<2x9001xf32>
    %t = nn.reduce sum %d [1] : tensor<2x9001xf32> -> tensor<2x1xf32>
    nn.yield %s, %m, %t, %d : tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x9001xf32>
  }
  nn.return
})";
  CompiledKernel kernel(text);
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
  Bytes bytes = toBytes(kernel.randomArguments(3)[0]);
  std::vector<float> x = valuesOf<float>(bytes);
  std::vector<Bytes> results = kernel.run({bytes});
  auto sums = valuesOf<float>(results[0]), most = valuesOf<float>(results[1]);
  auto lower = valuesOf<float>(results[2]), all = valuesOf<float>(results[3]);
  for (int64_t row = 0; row < 2; ++row) {
    const float *own = x.data() + row * 9001;
    EXPECT_EQ(sums[row], sumOfRow(own, 9001));
    EXPECT_EQ(most[row], *std::max_element(own, own + 9001));
    std::vector<float> less(own, own + 9001);
    for (float &value : less) {
      value -= most[row];
    }
    EXPECT_EQ(lower[row], sumOfRow(less.data(), 9001));
    EXPECT_TRUE(std::equal(less.begin(), less.end(), all.begin() + row * 9001));
  }
}

// The parts that nn-split-long-rows makes of a reduction: whole segments as
// rows, a running sum of theirs, and what is left of the row.
TEST(LongRows, SegmentsMayBeReducedApart) {
  const int64_t cols = 40000;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(cols);
  std::generate(x.begin(), x.end(), [&] { return uniform(random); });
  const char *parts = R"(
nn.program @f(%x: tensor<1x40000xf32>) {
  %0 = nn.kernel rows (%a = %x) : (tensor<1x40000xf32>) -> tensor<1x9x1xf32> {
    %s = nn.slice %a [0, 0] step [1, 1] : tensor<1x40000xf32> -> tensor<1x36864xf32>
    %t = nn.reshape %s : tensor<1x36864xf32> -> tensor<1x9x4096xf32>
    %r = nn.reduce sum %t [2] : tensor<1x9x4096xf32> -> tensor<1x9x1xf32>
    nn.yield %r : tensor<1x9x1xf32>
  }
  nn.return
})";
  const char *fold = R"(
nn.program @f(%x: tensor<1x9xf32>) {
  %0 = nn.kernel scan (%a = %x) : (tensor<1x9xf32>) -> tensor<1x9xf32> {
    %r = nn.cumsum %a dim 1 : tensor<1x9xf32>
    nn.yield %r : tensor<1x9xf32>
  }
  nn.return
})";
  CompiledKernel segments(parts), sums(fold);
  ASSERT_TRUE(segments.ok() && sums.ok())
      << segments.diagnostics() << sums.diagnostics();
  EXPECT_EQ(segments.info().extent, 9);
  std::vector<float> running =
      valuesOf<float>(sums.run({segments.run({bytesOf(x)})[0]})[0]);
  float rest = sumOfSegment(x.data() + 9 * 4096, cols - 9 * 4096);
  EXPECT_EQ(running[8] + rest, sumOfRow(x.data(), cols));
}

//===----------------------------------------------------------------------===//
// max and min
//===----------------------------------------------------------------------===//

constexpr float kOrdered[] = {-kInf, -1, -0.0f, 0.0f, 1, kInf};

/// The bits, of which all NaN count as one.
uint32_t bitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return std::isnan(x) ? 0x7fc00000 : bits;
}

/// Every pair of the numbers and NaN, with the greater and the lesser.
struct Pairs {
  std::vector<float> x, y, most, least;

  Pairs() {
    for (size_t i = 0; i < 6; ++i) {
      for (size_t k = 0; k < 6; ++k) {
        add(kOrdered[i], kOrdered[k], kOrdered[std::max(i, k)],
            kOrdered[std::min(i, k)]);
      }
      add(kOrdered[i], kNan, kNan, kNan);
      add(kNan, kOrdered[i], kNan, kNan);
    }
    add(kNan, kNan, kNan, kNan);
  }

  void add(float a, float b, float greater, float lesser) {
    x.push_back(a);
    y.push_back(b);
    most.push_back(greater);
    least.push_back(lesser);
  }
};

void expectBits(const std::vector<float> &expected, const Bytes &got,
                const Pairs &pairs, const std::string &what) {
  std::vector<float> values = valuesOf<float>(got);
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(bitsOf(values[i]), bitsOf(expected[i]))
        << what << " of " << pairs.x[i] << " and " << pairs.y[i];
  }
}

// On lanes, in their tail, and as scalars of a row.
TEST(MaxMin, OfTwo) {
  Pairs pairs;
  std::string n = std::to_string(pairs.x.size());
  for (std::string shape : {n, n + "x1"}) {
    std::string type = tensor(shape, "f32");
    for (std::string kind : {"max", "min"}) {
      for (const Bytes &result :
           resultsOf(kernelText("rows", type, type,
                                "nn.binary " + kind + " %a, %b : " + type),
                     {bytesOf(pairs.x), bytesOf(pairs.y)})) {
        expectBits(kind == "max" ? pairs.most : pairs.least, result, pairs,
                   kind);
      }
    }
  }
}

TEST(MaxMin, OfF64) {
  Pairs pairs;
  std::string type = tensor(std::to_string(pairs.x.size()), "f64");
  auto wide = [](const std::vector<float> &values) {
    return bytesOf(std::vector<double>(values.begin(), values.end()));
  };
  for (const Bytes &result : resultsOf(
           kernelText("rows", type, type, "nn.binary max %a, %b : " + type),
           {wide(pairs.x), wide(pairs.y)})) {
    std::vector<double> got = valuesOf<double>(result);
    std::vector<float> narrow(got.begin(), got.end());
    expectBits(pairs.most, bytesOf(narrow), pairs, "max in f64");
  }
}

/// Reduces each pair, far apart among elements that decide nothing.
void expectReduced(const std::string &form, bool max) {
  Pairs pairs;
  // NaN wins over anything else; what is neutral otherwise is the other end.
  float neutral = max ? -kInf : kInf;
  const int64_t length = 70, count = pairs.x.size();
  bool rows = form == "rows";
  std::vector<float> x(count * length, neutral);
  for (int64_t i = 0; i < count; ++i) {
    auto at = [&](int64_t place) -> float & {
      return x[rows ? i * length + place : place * count + i];
    };
    at(3) = pairs.x[i];
    at(69) = pairs.y[i];
  }
  std::string n = std::to_string(count), c = std::to_string(length);
  std::string from = tensor(rows ? n + "x" + c : c + "x" + n, "f32");
  std::string to = tensor(rows ? n + "x1" : "1x" + n, "f32");
  std::string kind = max ? "max" : "min";
  std::string op = "nn.reduce " + kind + " %a [" + (rows ? "1" : "0") +
                   "] : " + from + " -> " + to;
  for (const Bytes &result :
       resultsOf(kernelText(form, from, to, op), {bytesOf(x), bytesOf(x)})) {
    expectBits(max ? pairs.most : pairs.least, result, pairs,
               kind + " of " + form);
  }
}

TEST(MaxMin, OfRowsAndColumns) {
  for (std::string form : {"rows", "columns"}) {
    expectReduced(form, true);
    expectReduced(form, false);
  }
}

TEST(MaxMin, Scattered) {
  Pairs pairs;
  std::string n = std::to_string(pairs.x.size());
  for (std::string kind : {"max", "min"}) {
    std::string table = tensor("1x" + n, "f32");
    std::string text =
        "nn.program @f(%t: " + table + ", %i: tensor<1xi64>, %u: " + table +
        ") {\n %0 = nn.kernel scatter (%a = %t, %b = %i, %c = %u) : (" + table +
        ", tensor<1xi64>, " + table + ") -> " + table +
        " {\n %r = nn.scatter " + kind + " %b, %c into %a : tensor<1xi64>, " +
        table + " -> " + table + "\n nn.yield %r : " + table +
        "\n }\n nn.return\n}";
    for (const Bytes &result :
         resultsOf(text, {bytesOf(pairs.x), bytesOf(std::vector<int64_t>{0}),
                          bytesOf(pairs.y)})) {
      expectBits(kind == "max" ? pairs.most : pairs.least, result, pairs,
                 "scattered " + kind);
    }
  }
}

//===----------------------------------------------------------------------===//
// Floats to integers
//===----------------------------------------------------------------------===//

/// `x` to T, in each of a whole chunk's lanes, its tail and a row's scalar.
template <typename From, typename To>
void expectConverted(const std::string &from, const std::string &to) {
  using Limits = std::numeric_limits<To>;
  const From inf = std::numeric_limits<From>::infinity();
  // The least power of two that is too large.
  From top = std::ldexp(From(1), Limits::digits);
  From bottom = Limits::is_signed ? -top : From(0);
  std::vector<std::pair<From, To>> cases = {
      {From(0), To(0)},
      {From(-0.75), To(0)},
      {From(2.75), To(2)},
      {From(-2.75), Limits::is_signed ? To(-2) : To(0)},
      {inf, Limits::max()},
      {-inf, Limits::min()},
      {std::numeric_limits<From>::quiet_NaN(), To(0)},
      {-std::numeric_limits<From>::quiet_NaN(), To(0)},
      {top, Limits::max()},
      {top * 5, Limits::max()},
      {From(1e30), Limits::max()},
      {std::nextafter(top, From(0)), To(std::nextafter(top, From(0)))},
      {bottom, Limits::min()},
      {bottom - From(1), Limits::min()},
      {bottom * 3, Limits::min()},
      {From(-1e30), Limits::min()}};
  std::vector<From> x;
  std::vector<To> expected;
  for (int turn = 0; turn < 5; ++turn) {
    for (auto [value, integer] : cases) {
      x.push_back(value);
      expected.push_back(integer);
    }
    x.push_back(From(turn)); // shifts the lanes of the next turn
    expected.push_back(To(turn));
  }
  for (std::string shape : {"85", "85x1"}) {
    std::string text = kernelText(
        "rows", tensor(shape, from), tensor(shape, to),
        "nn.convert %a : " + tensor(shape, from) + " -> " + tensor(shape, to));
    for (const Bytes &result : resultsOf(text, {bytesOf(x), bytesOf(x)})) {
      std::vector<To> got = valuesOf<To>(result);
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(+got[i], +expected[i]) << from << " " << x[i] << " to " << to;
      }
    }
  }
}

template <typename From>
void expectConvertedToAll(const std::string &from) {
  expectConverted<From, int8_t>(from, "i8");
  expectConverted<From, uint8_t>(from, "ui8");
  expectConverted<From, int16_t>(from, "i16");
  expectConverted<From, int32_t>(from, "i32");
  expectConverted<From, int64_t>(from, "i64");
}

TEST(FloatToInteger, SaturatesAndMakesZeroOfNan) {
  expectConvertedToAll<float>("f32");
  expectConvertedToAll<double>("f64");
}

} // namespace
