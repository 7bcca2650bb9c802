//===- ResizeTaps.cpp - which elements a resized element is made of -------===//

#include "frontend/ops/ResizeTaps.h"

#include "frontend/base/ElementType.h"
#include "frontend/base/Error.h"

#include <algorithm>
#include <cmath>

namespace zerograph::frontend {

namespace {

/// Most input elements of an output element.
constexpr int64_t kMaxTaps = 64;

/// Returns where output element `i` lies in the input.
double sourceOf(const Axis &axis, const Method &method, int64_t i) {
  double input = axis.input, output = axis.scale * input;
  const std::string &kind = method.coordinates;
  if (kind == "asymmetric") {
    return i / axis.scale;
  }
  if (kind == "align_corners") {
    return axis.output == 1 ? 0 : i * (input - 1) / (output - 1);
  }
  if (kind == "tf_half_pixel_for_nn") {
    return (i + 0.5) / axis.scale;
  }
  if (kind == "tf_crop_and_resize") {
    return axis.output == 1
               ? 0.5 * (axis.start + axis.end) * (input - 1)
               : axis.start * (input - 1) +
                     i * (axis.end - axis.start) * (input - 1) / (output - 1);
  }
  if (kind == "pytorch_half_pixel" && axis.output == 1) {
    return 0;
  }
  double source = (i + 0.5) / axis.scale - 0.5;
  if (kind == "half_pixel_symmetric") {
    source += input / 2 * (1 - axis.output / output);
  }
  return source;
}

double cubicWeight(double distance, double a) {
  double x = std::fabs(distance), x2 = x * x, x3 = x2 * x;
  return x <= 1  ? (a + 2) * x3 - (a + 3) * x2 + 1
         : x < 2 ? a * (x3 - 5 * x2 + 8 * x - 4)
                 : 0;
}

int64_t nearestIndex(double source, const std::string &how) {
  double down = std::floor(source), up = std::ceil(source);
  bool tie = source - down == 0.5;
  if (how == "floor" || (how == "round_prefer_floor" && tie)) {
    return toInteger(down);
  }
  if (how == "ceil" || (how == "round_prefer_ceil" && tie)) {
    return toInteger(up);
  }
  return toInteger(std::floor(source + 0.5));
}

/// The taps of one output element, before those beyond the edges are moved.
std::vector<Tap> tapsOf(double source, double scale, const Method &method) {
  if (method.mode == "nearest") {
    return {{nearestIndex(source, method.nearest), 1}};
  }
  // A smaller image is smoothed over as many elements as become one.
  double stretch = method.antialias ? std::min(scale, 1.0) : 1;
  bool cubic = method.mode == "cubic";
  int64_t reach = toInteger(std::ceil((cubic ? 2 : 1) / stretch));
  if (reach > kMaxTaps / 2) {
    fail("an output element is made of more than ", kMaxTaps,
         " input elements");
  }
  int64_t down = toInteger(std::floor(source));
  std::vector<Tap> taps;
  double sum = 0;
  for (int64_t at = down - reach + 1; at <= down + reach; ++at) {
    double distance = (static_cast<double>(at) - source) * stretch;
    double weight = cubic ? cubicWeight(distance, method.cubic)
                          : std::max(0.0, 1 - std::fabs(distance));
    taps.push_back({at, weight});
    sum += weight;
  }
  if (method.antialias) {
    for (Tap &tap : taps) {
      tap.weight /= sum;
    }
  }
  return taps;
}

} // namespace

void computeTaps(Axis &axis, const Method &method) {
  for (int64_t i = 0; i < axis.output; ++i) {
    // Clamped so that the indices around it do not overflow.
    double source = std::clamp(sourceOf(axis, method, i), -0x1p53, 0x1p53);
    axis.outside.push_back(method.coordinates == "tf_crop_and_resize" &&
                           (source < 0 || source > axis.input - 1));
    // Clamped again: far outside the exact place does not matter.
    source = std::clamp(source, -1e6, 1e6);
    std::vector<Tap> taps = tapsOf(source, axis.scale, method);
    double sum = 0;
    for (Tap &tap : taps) {
      if (method.excludeOutside && (tap.index < 0 || tap.index >= axis.input)) {
        tap.weight = 0;
      }
      tap.index = std::clamp<int64_t>(tap.index, 0, axis.input - 1);
      sum += tap.weight;
    }
    if (method.excludeOutside && sum != 0) {
      for (Tap &tap : taps) {
        tap.weight /= sum;
      }
    }
    axis.taps.push_back(taps);
  }
}

} // namespace zerograph::frontend
