//===- Windows.cpp - where the windows of a pooling lie -------------------===//

#include "frontend/ops/Windows.h"

#include <algorithm>

namespace zerograph::frontend {

namespace {

/// Sizes are bounded so that no product of them overflows.
constexpr int64_t kMaxSize = int64_t(1) << 30;

/// An attribute with `count` entries of at least `least`.
std::vector<int64_t> entries(Op &op, const char *name, size_t count,
                             int64_t least) {
  std::vector<int64_t> values = op.intsAttribute(name);
  if (values.empty()) {
    values.assign(count, least);
  }
  if (values.size() != count) {
    fail(name, " has ", values.size(), " entries, but needs ", count);
  }
  for (int64_t value : values) {
    if (value < least || value > kMaxSize) {
      fail(name, " has the entry ", value);
    }
  }
  return values;
}

std::string autoPadOf(Op &op) {
  std::string autoPad = op.stringAttribute("auto_pad", "NOTSET");
  if (autoPad != "SAME_UPPER" && autoPad != "SAME_LOWER" &&
      autoPad != "NOTSET" && autoPad != "VALID") {
    fail("auto_pad='", autoPad,
         "' is not known; NOTSET, VALID, SAME_UPPER and SAME_LOWER are");
  }
  return autoPad;
}

/// Pads so that there is a window for each element, or for each stride. The odd
/// pad goes after if `upper`, else in front.
void padToSame(Window &w, bool upper) {
  w.count = (w.input + w.stride - 1) / w.stride;
  int64_t total =
      std::max<int64_t>((w.count - 1) * w.stride + w.extent() - w.input, 0);
  w.low = upper ? total / 2 : (total + 1) / 2;
  w.high = total - w.low;
}

/// Counts the windows that fit; if `up`, one may end after the padding.
void countWindows(Window &w, int64_t axis, bool up) {
  int64_t room = w.input + w.low + w.high - w.extent();
  if (room < 0) {
    fail("a window of ", w.extent(), " elements does not fit the ", w.input,
         " elements of axis ", axis, " and its padding");
  }
  w.count = (room + (up ? w.stride - 1 : 0)) / w.stride + 1;
  // No window begins after the input.
  if (up && (w.count - 1) * w.stride >= w.input + w.low) {
    --w.count;
  }
}

} // namespace

std::vector<int64_t> Window::counts(bool padded) const {
  int64_t begin = padded ? -low : 0, end = input + (padded ? high : 0);
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) {
    int64_t inside = 0;
    for (int64_t tap = 0; tap < size; ++tap) {
      int64_t at = i * stride - low + tap * dilation;
      inside += at >= begin && at < end;
    }
    result.push_back(std::max<int64_t>(inside, 1));
  }
  return result;
}

std::vector<Window> windowsOf(Op &op) {
  Shape shape = op.shape(0);
  if (shape.size() < 3) {
    fail("needs an input of shape [samples, channels, axes...], not ",
         shapeText(shape));
  }
  size_t rank = shape.size() - 2;
  if (!op.hasAttribute("kernel_shape")) {
    fail("attribute 'kernel_shape' is missing");
  }
  std::vector<int64_t> sizes = entries(op, "kernel_shape", rank, 1);
  std::vector<int64_t> strides = entries(op, "strides", rank, 1);
  std::vector<int64_t> dilations = entries(op, "dilations", rank, 1);
  std::vector<int64_t> pads = entries(op, "pads", 2 * rank, 0);
  std::string autoPad = autoPadOf(op);
  bool up = op.intAttribute("ceil_mode", 0) != 0, given = autoPad == "NOTSET";
  std::vector<Window> windows;
  for (size_t i = 0; i < rank; ++i) {
    Window w{shape[2 + i],
             sizes[i],
             strides[i],
             dilations[i],
             given ? pads[i] : 0,
             given ? pads[i + rank] : 0,
             0};
    if (w.extent() > kMaxSize) {
      fail("a window that spans ", w.extent(),
           " elements is not supported; up to ", kMaxSize, " are");
    }
    if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      padToSame(w, autoPad == "SAME_UPPER");
    } else {
      countWindows(w, 2 + i, up);
    }
    windows.push_back(w);
  }
  return windows;
}

} // namespace zerograph::frontend
