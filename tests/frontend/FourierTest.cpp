//===- FourierTest.cpp - transforms of any length -------------------------===//
//
// ONNX's node tests cover the attributes, of ten points; this covers lengths
// that are transformed factor by factor, other sizes than the signal's, and
// what is refused.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Evaluate.h"
#include "tests/support/Says.h"

#include <cmath>
#include <complex>

namespace zerograph::frontend::testing {

namespace {

using Complex = std::complex<double>;

Numbers signalOf(int64_t size) {
  Numbers values;
  for (int64_t i = 0; i < size; ++i) {
    values.push_back(std::sin(double(i) * 1.7) + 0.3 * double(i % 5));
  }
  return values;
}

/// Returns the transform of `x`, cut or filled with zeros to `length`.
std::vector<Complex> transformOf(const std::vector<Complex> &x, int64_t length,
                                 int sign) {
  std::vector<Complex> result;
  for (int64_t k = 0; k < length; ++k) {
    Complex sum = 0;
    for (int64_t n = 0; n < std::min<int64_t>(length, int64_t(x.size())); ++n) {
      double turns = double(n * k % length) / double(length);
      sum += x[size_t(n)] * std::polar(1.0, sign * 2 * M_PI * turns);
    }
    result.push_back(sum);
  }
  return result;
}

void expectNear(const Numbers &found, const Numbers &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 1e-9) << "element " << i;
  }
}

/// Imports a DFT of `[1, points, parts]` along axis 1.
Imported importDft(int64_t points, int64_t parts, int64_t length,
                   const std::string &attributes) {
  return import("g (double[1, " + std::to_string(points) + ", " +
                std::to_string(parts) + "] x) => (double[1, a, b] y) {\n" +
                "length = Constant <value_int = " + std::to_string(length) +
                "> ()\ny = DFT <axis = 1, " + attributes + "> (x, length) }");
}

TEST(Fourier, LengthsOfManyFactorsAndOfOne) {
  // 600 is transformed by 24 and 25, 1,022 by 14 and 73, 2,084 = 4 * 521 by 4
  // and a prime above 256.
  for (int64_t length : {12, 257, 600, 1022, 2084}) {
    for (int64_t points : {length, length / 2, length + 3}) {
      if (length > 2000 && points != length) {
        continue; // the interpreter takes long
      }
      Numbers x = signalOf(2 * points), expected;
      std::vector<Complex> numbers;
      for (int64_t i = 0; i < points; ++i) {
        numbers.emplace_back(x[size_t(2 * i)], x[size_t(2 * i + 1)]);
      }
      for (Complex y : transformOf(numbers, length, -1)) {
        expected.insert(expected.end(), {y.real(), y.imag()});
      }
      expectNear(run(importDft(points, 2, length, "inverse = 0"), {x}),
                 expected);
    }
  }
}

TEST(Fourier, HalfASpectrumThereAndBack) {
  for (int64_t length : {11, 12, 600, 601}) {
    Numbers x = signalOf(length), half;
    std::vector<Complex> numbers(x.begin(), x.end());
    std::vector<Complex> whole = transformOf(numbers, length, -1);
    for (int64_t k = 0; k <= length / 2; ++k) {
      half.insert(half.end(),
                  {whole[size_t(k)].real(), whole[size_t(k)].imag()});
    }
    expectNear(run(importDft(length, 1, length, "onesided = 1"), {x}), half);
    expectNear(
        run(importDft(length / 2 + 1, 2, length, "onesided = 1, inverse = 1"),
            {half}),
        x);
  }
}

TEST(Fourier, FramesOfAComplexSignal) {
  Imported imported = import(R"(
g (double[1, 40, 2] x, double[8] window) => (double[1, a, 8, 2] y) {
  step = Constant <value_int = 5> ()
  y = STFT <onesided = 0> (x, step, window)
})");
  Numbers x = signalOf(80), window = signalOf(8), expected;
  for (int64_t frame = 0; frame < 7; ++frame) {
    std::vector<Complex> numbers;
    for (int64_t i = 0; i < 8; ++i) {
      auto at = size_t(2 * (frame * 5 + i));
      numbers.push_back(Complex(x[at], x[at + 1]) * window[size_t(i)]);
    }
    for (Complex y : transformOf(numbers, 8, -1)) {
      expected.insert(expected.end(), {y.real(), y.imag()});
    }
  }
  expectNear(run(imported, {x, window}), expected);
}

// Sums of 1,024 points of 100 would exceed what 16 bits can hold.
TEST(Fourier, NumbersOf16Bits) {
  Imported imported = import(R"(
g (float16[1, 1024, 2] x) => (float16[1, 1024, 2] y) {
  y = DFT <axis = 1, inverse = 1> (x)
})");
  Numbers y = run(imported, {Numbers(2048, 100)});
  EXPECT_NEAR(y[0], 100, 0.1);
  EXPECT_NEAR(y[2], 0, 0.1);
}

TEST(Fourier, WhatIsRefused) {
  expectSays(
      importDft(8, 2, 8, "onesided = 1").status,
      "onesided is set, and the signal has 2 parts a number; expected 1");
  expectSays(importDft(8, 1, 0, "inverse = 0").status,
             "dft_length is 0, expected 1 to");
  // 2 * 8,209: the larger factor is a prime.
  expectSays(importDft(4, 1, 16418, "inverse = 0").status,
             "a transform of 8209 points, a prime number");
  expectSays(
      import(R"(
g (float[1, 8, 1] x) => (float[1, a, b, 2] y) {
  step = Constant <value_int = 5> ()
  length = Constant <value_int = 9> ()
  y = STFT (x, step, , length)
})")
          .status,
      "a frame of 9 elements: expected at most 8192, and no more than the "
      "signal has, of shape 1x8x1");
}

} // namespace

} // namespace zerograph::frontend::testing
