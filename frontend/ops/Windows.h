//===- Windows.h - where the windows of a pooling lie ---------------------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_WINDOWS_H
#define ZEROGRAPH_FRONTEND_OPS_WINDOWS_H

#include "frontend/walk/Op.h"

namespace zerograph::frontend {

/// The windows along one axis.
struct Window {
  int64_t input, size, stride, dilation;
  int64_t low, high; ///< the padding before and after
  int64_t count;     ///< how many windows there are

  /// Elements from the first to the last that a window touches.
  int64_t extent() const { return (size - 1) * dilation + 1; }
  /// Returns whether each window is the element of its number.
  bool isIdentity() const {
    return size == 1 && stride == 1 && low == 0 && count == input;
  }
  /// How many elements each window has within the input, or, if `padded`,
  /// within the input and its padding.
  std::vector<int64_t> counts(bool padded) const;
};

/// The windows along each axis of [samples, channels, axes...], by the
/// attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode.
std::vector<Window> windowsOf(Op &op);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_WINDOWS_H
