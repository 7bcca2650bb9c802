//===- ConvolutionTest.cpp - oneDNN convolutions against plain loops ------===//

#include "runtime/device/host/ConvolutionLibrary.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace zerograph;

namespace {

using Sizes = std::vector<uint64_t>;

struct Shape {
  const char *name;
  uint64_t samples, groups, channels, features;
  Sizes input, window, strides, low, dilations;
  Sizes high = {}; // zeros behind; none given: as many as in front
};

Sizes outputOf(const Shape &shape) {
  Sizes output;
  for (size_t i = 0; i < shape.input.size(); ++i) {
    uint64_t high = shape.high.empty() ? shape.low[i] : shape.high[i];
    uint64_t window = (shape.window[i] - 1) * shape.dilations[i] + 1;
    output.push_back(
        (shape.input[i] + shape.low[i] + high - window) / shape.strides[i] + 1);
  }
  return output;
}

uint64_t count(uint64_t a, uint64_t b, const Sizes &sizes) {
  uint64_t all = a * b;
  for (uint64_t size : sizes) {
    all *= size;
  }
  return all;
}

/// Calls visit(index) for each index below `sizes`.
template <typename Visit>
void forEach(const Sizes &sizes, Visit visit) {
  Sizes index(sizes.size(), 0);
  for (uint64_t n = count(1, 1, sizes); n > 0; --n) {
    visit(index);
    for (size_t i = sizes.size(); i-- > 0 && ++index[i] == sizes[i];) {
      index[i] = 0;
    }
  }
}

uint64_t linear(const Sizes &sizes, const Sizes &index) {
  uint64_t at = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    at = at * sizes[i] + index[i];
  }
  return at;
}

struct Case {
  Case(const Shape &shape, plan::ConvolutionKind kind) : shape(shape) {
    Sizes output = outputOf(shape);
    convolution.set_kind(kind);
    convolution.set_element_type(plan::F32);
    convolution.set_samples(shape.samples);
    convolution.set_groups(shape.groups);
    convolution.set_channels(shape.channels);
    convolution.set_features(shape.features);
    for (size_t i = 0; i < shape.input.size(); ++i) {
      convolution.add_input(shape.input[i]);
      convolution.add_window(shape.window[i]);
      convolution.add_output(output[i]);
      convolution.add_strides(shape.strides[i]);
      convolution.add_low(shape.low[i]);
      convolution.add_dilations(shape.dilations[i]);
    }
    std::mt19937 random(7);
    std::uniform_real_distribution<float> values(-1, 1);
    tensors[0].resize(count(shape.samples, shape.channels, shape.input));
    tensors[1].resize(
        count(shape.features, shape.channels / shape.groups, shape.window));
    tensors[2].resize(count(shape.samples, shape.features, output));
    for (std::vector<float> &tensor : tensors) {
      for (float &value : tensor) {
        value = values(random);
      }
    }
  }

  /// What is read, and what is written, of input, weights and output.
  std::array<int, 3> order() const {
    switch (convolution.kind()) {
    case plan::CONVOLVE:
      return {0, 1, 2};
    case plan::INPUT_GRADIENT:
      return {2, 1, 0};
    default:
      return {0, 2, 1};
    }
  }

  std::vector<double> expected() const {
    Sizes output = outputOf(shape);
    std::vector<double> result(tensors[order()[2]].size());
    uint64_t channels = shape.channels / shape.groups;
    uint64_t features = shape.features / shape.groups;
    forEach(
        {shape.samples, shape.features, count(1, 1, output),
         channels * count(1, 1, shape.window)},
        [&](const Sizes &at) {
          Sizes o(output.size()), w(output.size()), x(output.size());
          uint64_t rest = at[2], tap = at[3] % count(1, 1, shape.window);
          uint64_t channel = at[3] / count(1, 1, shape.window);
          for (size_t i = output.size(); i-- > 0;) {
            o[i] = rest % output[i];
            rest /= output[i];
            w[i] = tap % shape.window[i];
            tap /= shape.window[i];
            uint64_t place =
                o[i] * shape.strides[i] + w[i] * shape.dilations[i];
            if (place < shape.low[i] ||
                place - shape.low[i] >= shape.input[i]) {
              return;
            }
            x[i] = place - shape.low[i];
          }
          uint64_t in =
              (at[0] * shape.channels + at[1] / features * channels + channel) *
                  count(1, 1, shape.input) +
              linear(shape.input, x);
          uint64_t weight =
              (at[1] * channels + channel) * count(1, 1, shape.window) +
              linear(shape.window, w);
          uint64_t out =
              (at[0] * shape.features + at[1]) * count(1, 1, output) + at[2];
          uint64_t places[] = {in, weight, out};
          std::array<int, 3> tensor = order();
          result[places[tensor[2]]] +=
              double(tensors[tensor[0]][places[tensor[0]]]) *
              double(tensors[tensor[1]][places[tensor[1]]]);
        });
    return result;
  }

  /// The result by the library, with scratch full of NaNs before.
  std::vector<float> run() {
    auto bytes = scratchBytes(convolution);
    EXPECT_TRUE(bytes.ok()) << shape.name << ": " << bytes.status();
    std::vector<float> room((bytes.value_or(0) + 64) / 4, NAN);
    auto address = reinterpret_cast<uintptr_t>(room.data());
    auto *scratch = reinterpret_cast<void *>((address + 63) / 64 * 64);
    std::array<int, 3> tensor = order();
    std::vector<float> result(tensors[tensor[2]].size(), NAN);
    auto call = bindConvolution(convolution, tensors[tensor[0]].data(),
                                tensors[tensor[1]].data(), result.data(),
                                scratch, bytes.value_or(0));
    EXPECT_TRUE(call.ok()) << shape.name << ": " << call.status();
    for (unsigned i = 0; call.ok() && i < (*call)->parts(); ++i) {
      EXPECT_TRUE((*call)->run(i).ok());
    }
    return result;
  }

  Shape shape;
  plan::Convolution convolution;
  std::array<std::vector<float>, 3> tensors; // input, weights, output
};

const plan::ConvolutionKind kKinds[] = {plan::CONVOLVE, plan::INPUT_GRADIENT,
                                        plan::WEIGHTS_GRADIENT};

const Shape kShapes[] = {
    {"plain", 2, 1, 3, 16, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"strided", 2, 1, 16, 32, {9, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
    {"pointwise", 3, 1, 16, 8, {5, 5}, {1, 1}, {2, 2}, {0, 0}, {1, 1}},
    {"dilated", 1, 1, 4, 8, {12, 12}, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
    {"grouped", 2, 4, 8, 16, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"depthwise", 2, 8, 8, 8, {6, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"uneven zeros",
     2,
     1,
     3,
     5,
     {8, 8},
     {2, 2},
     {1, 1},
     {0, 0},
     {1, 1},
     {1, 1}},
    {"unread end", 1, 1, 2, 3, {8, 8}, {3, 3}, {2, 2}, {0, 0}, {1, 1}},
    {"line", 2, 1, 4, 6, {20}, {5}, {2}, {2}, {1}},
    {"volume",
     1,
     1,
     2,
     4,
     {5, 6, 7},
     {3, 3, 3},
     {1, 2, 1},
     {1, 1, 1},
     {1, 1, 1}},
    {"patches", 2, 1, 3, 32, {16, 16}, {8, 8}, {8, 8}, {0, 0}, {1, 1}},
    // Several parts, of samples and of features.
    {"large", 5, 1, 32, 50, {16, 16}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {"large groups", 3, 4, 64, 128, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
};

TEST(Convolution, AgreesWithLoops) {
  for (const Shape &shape : kShapes) {
    for (plan::ConvolutionKind kind : kKinds) {
      Case test(shape, kind);
      std::vector<double> expected = test.expected();
      std::vector<float> found = test.run();
      double norm = 0, error = 0;
      for (size_t i = 0; i < expected.size(); ++i) {
        norm = std::max(norm, std::abs(expected[i]));
        error = std::max(error, std::abs(expected[i] - found[i]));
        ASSERT_TRUE(std::isfinite(found[i])) << shape.name << " " << i;
      }
      EXPECT_LT(error, 3e-6 * norm) << shape.name << " kind " << kind;
    }
  }
}

TEST(Convolution, LargeOnesHaveSeveralParts) {
  for (plan::ConvolutionKind kind : kKinds) {
    for (const char *name : {"large", "large groups"}) {
      for (const Shape &shape : kShapes) {
        if (std::string(name) == shape.name) {
          EXPECT_GT(cutConvolution(Case(shape, kind).convolution).size(), 2u)
              << name;
        }
      }
    }
  }
}

TEST(Convolution, ScratchOfAnotherIsRefused) {
  Case test(kShapes[0], plan::CONVOLVE);
  auto *tensors = test.tensors.data();
  auto refusal = [&](uint64_t scratch) {
    auto call =
        bindConvolution(test.convolution, tensors[0].data(), tensors[1].data(),
                        tensors[2].data(), nullptr, scratch);
    return std::string(call.status().message());
  };
  auto bytes = scratchBytes(test.convolution);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_THAT(refusal(*bytes + 64), ::testing::HasSubstr("bytes of scratch"));
  test.convolution.set_element_type(plan::BF16);
  EXPECT_THAT(refusal(*bytes), ::testing::HasSubstr("BF16"));
}

} // namespace
