//===- Convolution.cpp - convolutions by products of matrices -------------===//
//
// A gather lays what each window sees side by side, for N samples and `groups`
// groups, T places in a window and O windows in an image, as the matrix
// [C / groups * T, N * O] of each group, so that
//   output  = weights * seen              chains in ascending (channel, place)
//   weights = output's gradient * seen^T  chains in ascending (sample, window)
// seen^T is gathered anew, so that seen does not live from forward to backward,
// and the gradient by the input is a convolution of the output's gradient with
// the weights turned round. Chellapilla, Puri, Simard, "High performance
// convolutional neural networks for document processing", 2006.
//
//===----------------------------------------------------------------------===//

#include "passes/ir/nn/Convolution.h"
#include "passes/kernels/decompose/Decomposition.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

using Sizes = SmallVector<int64_t>;

/// The dims after samples and channels, or features and channels.
ArrayRef<int64_t> placesOf(ArrayRef<int64_t> shape) {
  return shape.drop_front(2);
}

int64_t product(ArrayRef<int64_t> sizes) {
  return ShapedType::getNumElements(sizes);
}

/// `lead` and then `rest`.
Sizes join(ArrayRef<int64_t> lead, ArrayRef<int64_t> rest) {
  Sizes sizes(lead);
  sizes.append(rest.begin(), rest.end());
  return sizes;
}

/// [N, groups * C, places...] as [groups, C, N * places].
Value groupsFirst(Value x, int64_t groups, NNBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t n = shape[0], c = shape[1] / groups, o = product(placesOf(shape));
  Value parts = b.reshape(x, {n, groups, c, o});
  return b.reshape(b.transpose(parts, {1, 2, 0, 3}), {groups, c, n * o});
}

/// The way back.
Value samplesFirst(Value x, ArrayRef<int64_t> shape, NNBuilder &b) {
  int64_t groups = shapeOf(x)[0], c = shapeOf(x)[1], n = shape[0];
  Value parts = b.reshape(x, {groups, c, n, product(placesOf(shape))});
  return b.reshape(b.transpose(parts, {2, 0, 1, 3}), shape);
}

/// Element `shift` of each place dim of `x` becomes the first of `sizes`; zeros
/// where `x` has none.
Value moveInto(Value x, ArrayRef<int64_t> shift, ArrayRef<int64_t> sizes,
               NNBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(x);
  Sizes starts(shape.size(), 0), steps(shape.size(), 1), low(starts);
  Sizes kept(shape), full(shape);
  for (size_t i = 0; i < sizes.size(); ++i) {
    size_t dim = i + 2;
    starts[dim] = std::max<int64_t>(0, shift[i]);
    low[dim] = std::max<int64_t>(0, -shift[i]);
    kept[dim] = std::min(shape[dim] - starts[dim], sizes[i] - low[dim]);
    full[dim] = sizes[i];
  }
  if (llvm::any_of(kept, [](int64_t size) { return size < 1; })) {
    return b.splat(RankedTensorType::get(full, elementOf(x)), 0);
  }
  if (kept != Sizes(shape)) {
    x = b.slice(x, starts, steps, kept);
  }
  return b.pad(x, low, full);
}

/// `stride` - 1 zeros after each element of the place dims.
Value spread(Value x, ArrayRef<int64_t> strides, NNBuilder &b) {
  if (llvm::all_of(strides, [](int64_t stride) { return stride == 1; })) {
    return x;
  }
  ArrayRef<int64_t> shape = shapeOf(x);
  Sizes apart(shape.take_front(2)), padded(apart), spread(apart);
  for (auto [size, stride] : llvm::zip_equal(placesOf(shape), strides)) {
    apart.append({size, 1});
    padded.append({size, stride});
    spread.push_back(size * stride);
  }
  Value far = b.pad(b.reshape(x, apart), Sizes(apart.size(), 0), padded);
  return b.reshape(far, spread);
}

/// How windows lie on an image, which they don't leave.
struct Windows {
  ArrayRef<int64_t> window, count; // one number a place dim, as those below
  ArrayRef<int64_t> strides, dilations;

  /// Places of an image that the windows just fit.
  Sizes image() const {
    Sizes sizes;
    for (size_t i = 0; i < window.size(); ++i) {
      sizes.push_back((count[i] - 1) * strides[i] +
                      (window[i] - 1) * dilations[i] + 1);
    }
    return sizes;
  }

  /// The place in the image, row-major, of place t of window o: [T, O], or
  /// [O, T].
  Value places(bool windowsFirst, NNBuilder &b) const {
    Type type = b.builder.getI64Type();
    int64_t rank = int64_t(window.size());
    Sizes shape = windowsFirst ? join(count, window) : join(window, count);
    Sizes sizes = image();
    auto along = [&](bool ofWindow, int64_t i, int64_t step) {
      int64_t dim = ofWindow == windowsFirst ? rank + i : i;
      return b.scale(b.iota(RankedTensorType::get(shape, type), dim),
                     double(step));
    };
    Value sum;
    for (int64_t i = 0; i < rank; ++i) {
      int64_t pitch = product(ArrayRef(sizes).drop_front(size_t(i) + 1));
      Value place = b.add(along(true, i, dilations[size_t(i)] * pitch),
                          along(false, i, strides[size_t(i)] * pitch));
      sum = sum ? b.add(sum, place) : place;
    }
    int64_t t = product(window), o = product(count);
    return windowsFirst ? b.reshape(sum, {o, t}) : b.reshape(sum, {t, o});
  }

  /// Returns what the windows see of `x`, [N, groups * C, image...], as
  /// [groups, C * T, N * O], or with windows first [groups, N * O, C * T].
  Value see(Value x, int64_t groups, bool windowsFirst, NNBuilder &b) const {
    ArrayRef<int64_t> shape = shapeOf(x);
    int64_t n = shape[0], c = shape[1] / groups;
    int64_t t = product(window), o = product(count);
    Value seen = gather(x, places(windowsFirst, b), b);
    if (windowsFirst) {
      Value parts = b.reshape(seen, {o, t, n, groups, c});
      return b.reshape(b.transpose(parts, {3, 2, 0, 4, 1}),
                       {groups, n * o, c * t});
    }
    Value parts = b.reshape(seen, {t, o, n, groups, c});
    return b.reshape(b.transpose(parts, {3, 4, 0, 2, 1}),
                     {groups, c * t, n * o});
  }

private:
  /// Returns what, of samples and channels, lies at these places: [..., N, C].
  static Value gather(Value x, Value places, NNBuilder &b) {
    ArrayRef<int64_t> shape = shapeOf(x);
    Value flat = b.reshape(x, {shape[0], shape[1], product(placesOf(shape))});
    return b.gather(b.transpose(flat, {2, 0, 1}), places);
  }
};

Value multiply(Value a, Value rhs, Type element, NNBuilder &b) {
  auto type = RankedTensorType::get(
      {shapeOf(a)[0], shapeOf(a)[1], shapeOf(rhs)[2]}, element);
  return b.matmul(a, rhs, /*transposeA=*/false, /*transposeB=*/false, type);
}

/// [groups * rows, columns, window...] as [groups, rows, columns * T].
Value asMatrix(Value weights, int64_t groups, NNBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(weights);
  return b.reshape(weights,
                   {groups, shape[0] / groups, product(shape.drop_front())});
}

/// Exchanges rows and columns in each group, and reads every window backwards.
Value turnRound(Value weights, int64_t groups, NNBuilder &b) {
  ArrayRef<int64_t> shape = shapeOf(weights);
  int64_t k = shape[0] / groups, c = shape[1];
  Sizes starts(2, 0), steps(2, 1);
  for (int64_t size : placesOf(shape)) {
    starts.push_back(size - 1);
    steps.push_back(-1);
  }
  Value back = b.slice(weights, starts, steps, shape);
  int64_t t = product(placesOf(shape));
  Value parts = b.reshape(back, {groups, k, c, t});
  return b.reshape(b.transpose(parts, {0, 2, 1, 3}),
                   join({groups * c, k}, placesOf(shape)));
}

class Rewriting {
public:
  Rewriting(ConvolutionOp op, NNBuilder &b) : op(op), convolution(op), b(b) {
    for (unsigned i = 0; i < convolution.places(); ++i) {
      // A dim of one place or tap takes no step, whatever the stride or
      // dilation says.
      bool one = convolution.output.getDimSize(i + 2) == 1;
      strides.push_back(one ? 1 : convolution.strides[i]);
      one = convolution.weights.getDimSize(i + 2) == 1;
      dilations.push_back(one ? 1 : convolution.dilations[i]);
    }
  }

  Value run() {
    switch (convolution.kind) {
    case ConvolutionKind::forward:
      return weighted(see(windows(), image(), /*windowsFirst=*/false),
                      op.getRhs());
    case ConvolutionKind::input:
      return gradientByInput();
    case ConvolutionKind::weights: {
      Value dy = groupsFirst(op.getRhs(), convolution.groups, b);
      Value seen = see(windows(), image(), /*windowsFirst=*/true);
      Value dw = multiply(dy, seen, elementOf(op), b);
      return b.reshape(dw, shapeOf(op));
    }
    }
    llvm_unreachable("all kinds are handled");
  }

private:
  Windows windows() const {
    return {placesOf(convolution.weights.getShape()),
            placesOf(convolution.output.getShape()), strides, dilations};
  }

  /// The input with its border, as much as the windows see.
  Value image() {
    Sizes shift;
    for (int64_t low : convolution.low) {
      shift.push_back(-low);
    }
    return moveInto(op.getLhs(), shift, windows().image(), b);
  }

  Value see(const Windows &windows, Value x, bool windowsFirst) {
    return windows.see(x, convolution.groups, windowsFirst, b);
  }

  Value weighted(Value seen, Value weights) {
    Value matrix = asMatrix(weights, convolution.groups, b);
    Value product = multiply(matrix, seen, elementOf(op), b);
    return samplesFirst(product, shapeOf(op), b);
  }

  /// Element i of the input met place w of the window in window o where
  /// i = o * stride - low + w * dilation: so, read backwards, it sees the
  /// spread gradient from i + low - (W - 1) * dilation on.
  Value gradientByInput() {
    Sizes ones(convolution.places(), 1), shift;
    Windows back = windows();
    back.count = placesOf(convolution.input.getShape());
    back.strides = ones;
    for (unsigned i = 0; i < convolution.places(); ++i) {
      shift.push_back(convolution.low[i] -
                      (back.window[i] - 1) * back.dilations[i]);
    }
    Value dy =
        moveInto(spread(op.getLhs(), strides, b), shift, back.image(), b);
    return weighted(see(back, dy, /*windowsFirst=*/false),
                    turnRound(op.getRhs(), convolution.groups, b));
  }

  ConvolutionOp op;
  nn::Convolution convolution;
  NNBuilder &b;
  Sizes strides, dilations;
};

struct ConvolutionDecomposition : OpRewritePattern<ConvolutionOp> {
  ConvolutionDecomposition(MLIRContext *context, const TargetInfo &target)
      : OpRewritePattern(context), target(target) {}

  LogicalResult matchAndRewrite(ConvolutionOp op,
                                PatternRewriter &rewriter) const override {
    if (target.hasProduct(op, elementOf(op.getLhs())) ||
        target.widensProduct(op)) {
      return failure();
    }
    NNBuilder b(rewriter, op.getLoc());
    rewriter.replaceOp(op, Rewriting(op, b).run());
    return success();
  }

  const TargetInfo &target;
};

} // namespace

void mlir::zg::nn::addConvolutionDecompositions(RewritePatternSet &patterns,
                                                const TargetInfo &target) {
  patterns.add<ConvolutionDecomposition>(patterns.getContext(), target);
}
