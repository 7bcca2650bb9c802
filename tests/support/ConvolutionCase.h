//===- ConvolutionCase.h - convolutions, and their results by loops -------===//
//
// The loops that each library that convolves is compared with.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_CONVOLUTIONCASE_H
#define ZEROGRAPH_TESTS_SUPPORT_CONVOLUTIONCASE_H

#include "runtime/plan/plan.pb.h"

#include <array>
#include <string>
#include <vector>

namespace zerograph::testing {

struct ConvolutionShape {
  using Sizes = std::vector<uint64_t>;

  const char *name;
  uint64_t samples, groups, channels, features;
  Sizes input, window, strides, low, dilations;
  Sizes high = {}; // zeros behind; none given: as many as in front

  Sizes output() const;
  plan::Convolution convolution(plan::ConvolutionKind kind,
                                plan::ElementType type) const;
};

/// Returns shapes of all kinds: strides, dilations, groups, uneven zeros, one
/// to three places.
const std::vector<ConvolutionShape> &convolutionShapes();
inline constexpr plan::ConvolutionKind kConvolutionKinds[] = {
    plan::CONVOLVE, plan::INPUT_GRADIENT, plan::WEIGHTS_GRADIENT};

/// One of them, with random values from -1 to 1 that the type, or f32, holds.
struct ConvolutionCase {
  ConvolutionCase(const ConvolutionShape &shape, plan::ConvolutionKind kind,
                  plan::ElementType type = plan::F32);

  /// Returns what is read, and what is written, of input, weights and output.
  std::array<int, 3> order() const;
  /// Returns what is to be written.
  std::vector<double> expected() const;
  /// By how much a result differs at most, in parts of the largest element;
  /// infinite where it is not finite.
  double error(const std::vector<double> &found) const;

  ConvolutionShape shape;
  plan::Convolution convolution;
  std::array<std::vector<double>, 3> tensors; ///< input, weights and output
};

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_CONVOLUTIONCASE_H
