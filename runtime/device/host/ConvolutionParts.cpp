//===- ConvolutionParts.cpp - how a convolution is cut into library calls -===//

#include "runtime/device/host/ConvolutionParts.h"

#include <algorithm>
#include <numeric>

using namespace zerograph;

namespace {

constexpr uint64_t kMostParts = 8;
constexpr double kFlopsOfPart = 8e6;
constexpr uint64_t kVector = 16; // features or channels in one

using Axis = ConvolutionAxis;
using Sizes = std::vector<int64_t>;

uint64_t elements(const ConvolutionTensor &tensor) {
  uint64_t all = 1;
  for (int64_t size : tensor.sizes) {
    all *= uint64_t(size);
  }
  return all;
}

template <typename Places>
ConvolutionTensor dense(Sizes first, const Places &places) {
  ConvolutionTensor tensor{std::move(first), {}};
  tensor.sizes.insert(tensor.sizes.end(), places.begin(), places.end());
  tensor.strides.assign(tensor.sizes.size(), 1);
  for (size_t i = tensor.sizes.size() - 1; i > 0; --i) {
    tensor.strides[i - 1] = tensor.strides[i] * tensor.sizes[i];
  }
  return tensor;
}

/// Along what the weights are divided.
Axis axisOfWeights(const plan::Convolution &c) {
  return c.groups() > 1                     ? Axis::groups
         : c.kind() == plan::INPUT_GRADIENT ? Axis::channels
                                            : Axis::features;
}

uint64_t extentOf(const plan::Convolution &c, Axis axis) {
  switch (axis) {
  case Axis::samples:
    return c.samples();
  case Axis::features:
    return c.features();
  case Axis::channels:
    return c.channels();
  case Axis::groups:
    return c.groups();
  }
  return 0;
}

/// Returns the number that the cuts are multiples of: whole vectors, also of
/// the features of all groups in a part.
uint64_t grainOf(const plan::Convolution &c, Axis axis) {
  switch (axis) {
  case Axis::samples:
    return 1;
  case Axis::features:
  case Axis::channels:
    return kVector;
  case Axis::groups:
    return kVector / std::gcd(kVector, c.features() / c.groups());
  }
  return 1;
}

/// Returns the number of places that cuts may be made at.
uint64_t grainsOf(const plan::Convolution &c, Axis axis) {
  uint64_t grain = grainOf(c, axis);
  return (extentOf(c, axis) + grain - 1) / grain;
}

/// The axis of at most `wanted` parts.
Axis axisOf(const plan::Convolution &c, uint64_t wanted) {
  Axis weights = axisOfWeights(c);
  if (c.kind() == plan::WEIGHTS_GRADIENT) {
    return weights;
  }
  auto tensors = convolutionTensors(c);
  int image = c.kind() == plan::INPUT_GRADIENT ? kOutput : kInput;
  bool larger = elements(tensors[kWeights]) > elements(tensors[image]);
  uint64_t of_samples = std::min(wanted, c.samples());
  return larger && 2 * grainsOf(c, weights) >= of_samples ? weights
                                                          : Axis::samples;
}

} // namespace

ConvolutionCuts zerograph::cutConvolution(const plan::Convolution &c) {
  auto tensors = convolutionTensors(c);
  double flops = 2.0 * double(elements(tensors[kOutput])) *
                 double(elements(tensors[kWeights])) / double(c.features());
  auto wanted =
      uint64_t(std::clamp(flops / kFlopsOfPart, 1.0, double(kMostParts)));
  ConvolutionCuts cuts{axisOf(c, wanted), {}};
  uint64_t extent = extentOf(c, cuts.axis), grain = grainOf(c, cuts.axis);
  uint64_t grains = grainsOf(c, cuts.axis), parts = std::min(wanted, grains);
  for (uint64_t i = 0; i <= parts; ++i) {
    cuts.at.push_back(std::min(extent, grains * i / parts * grain));
  }
  return cuts;
}

plan::Convolution zerograph::convolutionPart(const plan::Convolution &whole,
                                             Axis axis, uint64_t begin,
                                             uint64_t end) {
  plan::Convolution part = whole;
  uint64_t size = end - begin;
  switch (axis) {
  case Axis::samples:
    part.set_samples(size);
    break;
  case Axis::features:
    part.set_features(size);
    break;
  case Axis::channels:
    part.set_channels(size);
    break;
  case Axis::groups:
    part.set_groups(size);
    part.set_features(whole.features() / whole.groups() * size);
    part.set_channels(whole.channels() / whole.groups() * size);
    break;
  }
  return part;
}

std::array<ConvolutionTensor, 3>
zerograph::convolutionTensors(const plan::Convolution &c) {
  auto samples = int64_t(c.samples()), groups = int64_t(c.groups());
  auto features = int64_t(c.features()), channels = int64_t(c.channels());
  Sizes weights = {features / groups, channels / groups};
  if (groups > 1) {
    weights.insert(weights.begin(), groups);
  }
  return {dense({samples, channels}, c.input()), dense(weights, c.window()),
          dense({samples, features}, c.output())};
}

std::array<uint64_t, 3> zerograph::partOffsets(const plan::Convolution &whole,
                                               Axis axis, uint64_t begin) {
  auto tensors = convolutionTensors(whole);
  auto at = [&](int tensor, int dim, uint64_t index) {
    return index * uint64_t(tensors[tensor].strides[dim]);
  };
  switch (axis) {
  case Axis::samples:
    return {at(kInput, 0, begin), 0, at(kOutput, 0, begin)};
  case Axis::features:
    return {0, at(kWeights, 0, begin), at(kOutput, 1, begin)};
  case Axis::channels:
    return {at(kInput, 1, begin), at(kWeights, 1, begin), 0};
  case Axis::groups:
    return {at(kInput, 1, begin * (whole.channels() / whole.groups())),
            at(kWeights, 0, begin),
            at(kOutput, 1, begin * (whole.features() / whole.groups()))};
  }
  return {};
}
