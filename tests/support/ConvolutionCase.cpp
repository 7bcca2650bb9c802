//===- ConvolutionCase.cpp - convolutions, and their results by loops -----===//

#include "tests/support/ConvolutionCase.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

using Sizes = ConvolutionShape::Sizes;

uint64_t count(uint64_t a, uint64_t b, const Sizes &sizes) {
  uint64_t all = a * b;
  for (uint64_t size : sizes) {
    all *= size;
  }
  return all;
}

/// The index of element `n` of a tensor of these sizes.
Sizes indexOf(uint64_t n, const Sizes &sizes) {
  Sizes index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; n /= sizes[i]) {
    index[i] = n % sizes[i];
  }
  return index;
}

/// Returns where a place of a window lies in the input; nothing where zeros do.
std::optional<uint64_t> placeOf(const ConvolutionShape &shape,
                                const Sizes &window, const Sizes &tap) {
  uint64_t at = 0;
  for (size_t i = 0; i < shape.input.size(); ++i) {
    uint64_t place = window[i] * shape.strides[i] + tap[i] * shape.dilations[i];
    if (place < shape.low[i] || place - shape.low[i] >= shape.input[i]) {
      return std::nullopt;
    }
    at = at * shape.input[i] + place - shape.low[i];
  }
  return at;
}

} // namespace

ConvolutionShape::Sizes ConvolutionShape::output() const {
  Sizes sizes;
  for (size_t i = 0; i < input.size(); ++i) {
    uint64_t behind = high.empty() ? low[i] : high[i];
    uint64_t reach = (window[i] - 1) * dilations[i] + 1;
    sizes.push_back((input[i] + low[i] + behind - reach) / strides[i] + 1);
  }
  return sizes;
}

plan::Convolution ConvolutionShape::convolution(plan::ConvolutionKind kind,
                                                plan::ElementType type) const {
  plan::Convolution made;
  made.set_kind(kind);
  made.set_element_type(type);
  made.set_samples(samples);
  made.set_groups(groups);
  made.set_channels(channels);
  made.set_features(features);
  Sizes places = output();
  for (size_t i = 0; i < input.size(); ++i) {
    made.add_input(input[i]);
    made.add_window(window[i]);
    made.add_output(places[i]);
    made.add_strides(strides[i]);
    made.add_low(low[i]);
    made.add_dilations(dilations[i]);
  }
  return made;
}

const std::vector<ConvolutionShape> &zerograph::testing::convolutionShapes() {
  static const std::vector<ConvolutionShape> kShapes = {
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
      // Several parts, of features, of channels and of groups: weights that are
      // larger than the images.
      {"small images", 30, 1, 104, 120, {2, 2}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {"small groups", 50, 5, 120, 200, {2, 2}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {"thin rows", 60, 1, 128, 96, {4}, {9}, {2}, {4}, {1}},
      {"small cubes",
       20,
       1,
       64,
       80,
       {2, 2, 2},
       {3, 3, 3},
       {1, 1, 1},
       {1, 1, 1},
       {1, 1, 1}},
      {"two groups", 50, 2, 120, 192, {2, 2}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
  };
  return kShapes;
}

ConvolutionCase::ConvolutionCase(const ConvolutionShape &shape,
                                 plan::ConvolutionKind kind,
                                 plan::ElementType type)
    : shape(shape), convolution(shape.convolution(kind, type)) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-1, 1);
  tensors[0].resize(count(shape.samples, shape.channels, shape.input));
  tensors[1].resize(
      count(shape.features, shape.channels / shape.groups, shape.window));
  tensors[2].resize(count(shape.samples, shape.features, shape.output()));
  for (std::vector<double> &tensor : tensors) {
    for (double &value : tensor) {
      value = values(random);
      if (type == plan::BF16 || type == plan::F16) {
        value = std::round(value * 128) / 128;
      }
    }
  }
}

std::array<int, 3> ConvolutionCase::order() const {
  switch (convolution.kind()) {
  case plan::CONVOLVE:
    return {0, 1, 2};
  case plan::INPUT_GRADIENT:
    return {2, 1, 0};
  default:
    return {0, 2, 1};
  }
}

std::vector<double> ConvolutionCase::expected() const {
  Sizes output = shape.output();
  const uint64_t inputs = count(1, 1, shape.input);
  const uint64_t taps = count(1, 1, shape.window);
  const uint64_t windows = count(1, 1, output);
  const uint64_t channels = shape.channels / shape.groups;
  const uint64_t features = shape.features / shape.groups;
  const auto [from, by, to] = order();
  std::vector<double> result(tensors[size_t(to)].size());
  for (uint64_t window = 0; window < windows; ++window) {
    for (uint64_t tap = 0; tap < taps; ++tap) {
      auto place =
          placeOf(shape, indexOf(window, output), indexOf(tap, shape.window));
      for (uint64_t n = 0; place && n < shape.samples; ++n) {
        for (uint64_t k = 0; k < shape.features; ++k) {
          for (uint64_t c = 0; c < channels; ++c) {
            uint64_t channel = k / features * channels + c;
            const uint64_t at[] = {(n * shape.channels + channel) * inputs +
                                       *place,
                                   (k * channels + c) * taps + tap,
                                   (n * shape.features + k) * windows + window};
            result[at[to]] +=
                tensors[size_t(from)][at[from]] * tensors[size_t(by)][at[by]];
          }
        }
      }
    }
  }
  return result;
}

double ConvolutionCase::error(const std::vector<double> &found) const {
  double norm = 0, error = 0;
  std::vector<double> right = expected();
  for (size_t i = 0; i < right.size(); ++i) {
    if (i >= found.size() || !std::isfinite(found[i])) {
      return std::numeric_limits<double>::infinity();
    }
    norm = std::max(norm, std::abs(right[i]));
    error = std::max(error, std::abs(right[i] - found[i]));
  }
  return error / norm;
}
