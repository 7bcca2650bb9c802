//===- ResizeTaps.h - which elements a resized element is made of ---------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_RESIZETAPS_H
#define ZEROGRAPH_FRONTEND_OPS_RESIZETAPS_H

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph::frontend {

/// An input element that an output element is made of.
struct Tap {
  int64_t index;
  double weight;
};

/// How one axis is resized.
struct Axis {
  int64_t dim, input, output;
  double scale;
  double start = 0, end = 1;               ///< region, for crop_and_resize
  std::vector<std::vector<Tap>> taps = {}; ///< one list per output element
  /// True for the output elements of crop_and_resize that lie outside of the
  /// input.
  std::vector<bool> outside = {};
};

/// The attributes of an interpolation, by ONNX's names of their values.
struct Method {
  std::string mode, coordinates, nearest;
  double cubic = -0.75;
  bool excludeOutside = false, antialias = false;
};

/// Fills in `taps` and `outside`. Fails on an element of too many taps.
void computeTaps(Axis &axis, const Method &method);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_RESIZETAPS_H
