//===- Fourier.cpp - discrete Fourier transforms, as matrix products ------===//
//
// A complex number is two neighbours, so that a transform is a product with a
// matrix of cosines: e^(i t) times x + i y has the parts x cos t + y cos(t +
// pi/2) and x cos(t - pi/2) + y cos t.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

#include <cmath>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

constexpr int64_t kLargest = 1 << 20;

/// The sum over the points n of x[n] e^(i sign 2 pi n k / length), for the
/// first `outputs` numbers k.
struct Transform {
  int64_t length = 0; ///< of one turn
  int64_t outputs = 0;
  int64_t sign = -1; ///< 1: the inverse, which is not scaled here
  int64_t parts = 2; ///< of each output: 1, if the real one is enough
};

int64_t checked(int64_t number, const char *what) {
  if (number < 1 || number > kLargest) {
    fail(what, " is ", number, ", expected 1 to ", kLargest);
  }
  return number;
}

int64_t scalar(Op &op, int i, const char *what) {
  return checked(op.constantInt(i, what), what);
}

/// The dims whose indices are n, k, and the parts of an input and an output.
struct Dims {
  int64_t point, number, from, to;
};

/// Returns cos(sign 2 pi n k / length + (from - to) pi/2).
Value cosines(Emitter &emit, const Shape &shape, const Dims &dims,
              const Transform &transform, mlir::Type element) {
  auto at = [&](int64_t dim) {
    return emit.iota(dim, shape, emit.builder.getI64Type());
  };
  // In quarters of a step, which are exact.
  auto quarter = double(transform.length);
  Value quarters =
      emit.add(emit.mul(emit.mul(at(dims.point), at(dims.number)),
                        4.0 * double(transform.sign)),
               emit.mul(emit.sub(at(dims.from), at(dims.to)), quarter));
  quarters = emit.binary(BinaryKind::mod, quarters, 4 * quarter);
  // In f64, so that each number is as exact as the element can say.
  Value angles = emit.mul(emit.convert(quarters, emit.builder.getF64Type()),
                          M_PI_2 / quarter);
  return emit.convert(emit.unary(UnaryKind::cos, angles), element);
}

/// Transforms `[rows, points, parts]`, by one product.
Value transformAtOnce(Emitter &emit, Value x, const Transform &transform) {
  Shape from = Emitter::shapeOf(x);
  Shape shape{from[1], from[2], transform.outputs, transform.parts};
  Value matrix =
      cosines(emit, shape, {0, 2, 1, 3}, transform, Emitter::elementOf(x));
  Value product = emit.matmul(
      emit.reshape(x, {from[0], from[1] * from[2]}),
      emit.reshape(matrix, {shape[0] * shape[1], shape[2] * shape[3]}));
  return emit.reshape(product, {from[0], shape[2], shape[3]});
}

/// Multiplies complex numbers `[rows, n, k, 2]` by e^(i sign 2 pi n k /
/// length).
Value turned(Emitter &emit, Value x, const Transform &transform) {
  Shape from = Emitter::shapeOf(x);
  Value factors = cosines(emit, {from[1], from[2], 1, 2}, {0, 1, 2, 3},
                          transform, Emitter::elementOf(x));
  factors = emit.reshape(factors, {from[1], from[2], 2});
  auto part = [&](Value numbers, int64_t which) {
    return emit.sliceAxis(numbers, Emitter::rankOf(numbers) - 1, which, 1);
  };
  Value real = part(x, 0), imaginary = part(x, 1);
  Value cosine = part(factors, 0), sine = part(factors, 1);
  return emit.concat(
      {emit.sub(emit.mul(real, cosine), emit.mul(imaginary, sine)),
       emit.add(emit.mul(real, sine), emit.mul(imaginary, cosine))},
      3);
}

Value transformed(Emitter &emit, Value x, const Transform &transform);

/// Does the same for a length of `first` times `second`, by transforms of both
/// (Cooley and Tukey): point n = second * n1 + n2, number k = k1 + first * k2.
Value transformByFactors(Emitter &emit, Value x, const Transform &transform,
                         int64_t first) {
  Shape from = Emitter::shapeOf(x);
  int64_t rows = from[0], second = transform.length / first;
  x = emit.pad(x, {0, 0, 0}, {rows, transform.length, from[2]}, 0);
  x = emit.transpose(emit.reshape(x, {rows, first, second, from[2]}),
                     {0, 2, 1, 3});
  x = transformed(emit, emit.reshape(x, {rows * second, first, from[2]}),
                  {first, first, transform.sign, 2});
  x = turned(emit, emit.reshape(x, {rows, second, first, 2}), transform);
  x = emit.reshape(emit.transpose(x, {0, 2, 1, 3}), {rows * first, second, 2});
  x = transformed(emit, x, {second, second, transform.sign, transform.parts});
  x = emit.transpose(emit.reshape(x, {rows, first, second, transform.parts}),
                     {0, 2, 1, 3});
  x = emit.reshape(x, {rows, transform.length, transform.parts});
  return emit.sliceAxis(x, 1, 0, transform.outputs);
}

Value transformed(Emitter &emit, Value x, const Transform &transform) {
  constexpr int64_t kMostAtOnce = 256, kMostRows = 8192;
  int64_t length = transform.length;
  auto first = length > kMostAtOnce ? int64_t(std::sqrt(double(length))) : 1;
  while (length % first != 0) {
    --first;
  }
  if (first > 1) {
    return transformByFactors(emit, x, transform, first);
  }
  if (length > kMostRows) {
    fail("a transform of ", length,
         " points, a prime number, would be a product with a matrix of that "
         "many "
         "rows; expected at most ",
         kMostRows, ": pad the signal to a number of small factors");
  }
  return transformAtOnce(emit, x, transform);
}

/// Returns half of a spectrum, whose other half is its mirror image, with that
/// added to it: all but the ends count twice.
Value doubled(Emitter &emit, Value x, int64_t length) {
  Shape shape = Emitter::shapeOf(x);
  mlir::Type index = emit.builder.getI64Type();
  Value number = emit.iota(1, shape, index);
  Value once = emit.binary(
      BinaryKind::logical_or, emit.compare(CompareKind::eq, number, 0.0),
      emit.compare(CompareKind::eq, emit.mul(number, 2.0), double(length)));
  return emit.select(once, x, emit.mul(x, 2.0));
}

void checkComplex(Op &op, size_t least) {
  Shape shape = op.shape(0);
  if (shape.size() < least || shape.back() < 1 || shape.back() > 2) {
    fail("the signal has shape ", shapeText(shape), ", expected ", least,
         " or more dims, the last of 1 (real) or 2 (complex)");
  }
  if (!Emitter::isFloat(op.value(0))) {
    fail("the signal must have floats");
  }
}

int64_t axisOfDft(Op &op, int64_t rank) {
  int64_t axis = op.opset() < 20 ? op.intAttribute("axis", 1) : -2;
  if (op.opset() >= 20 && op.hasInput(2)) {
    axis = op.constantInt(2, "axis");
  }
  axis = normalizeAxis(axis, size_t(rank));
  if (axis == rank - 1) {
    fail("axis ", axis, " is that of the parts of complex numbers");
  }
  return axis;
}

void emitDft(Op &op) {
  Emitter &emit = op.emit;
  checkComplex(op, 2);
  bool inverse = op.intAttribute("inverse", 0) != 0;
  bool oneSided = op.intAttribute("onesided", 0) != 0;
  Shape shape = op.shape(0);
  auto rank = int64_t(shape.size());
  int64_t parts = shape.back(), axis = axisOfDft(op, rank);
  if (oneSided && (parts == 2) != inverse) {
    fail("onesided is set, and the signal has ", parts,
         parts == 1 ? " part" : " parts", " a number; expected ",
         inverse ? "2, as inverse is set" : "1, as inverse is not");
  }
  bool real = oneSided && inverse;
  int64_t length = op.hasInput(1)
                       ? scalar(op, 1, "dft_length")
                       : checked(real ? 2 * (shape[axis] - 1) : shape[axis],
                                 "the length of the signal");
  int64_t points = real ? length / 2 + 1 : length;
  Value x = emit.moveAxis(op.value(0), axis, rank - 2);
  Shape moved = Emitter::shapeOf(x);
  int64_t used = std::min(points, moved[rank - 2]);
  x = emit.sliceAxis(x, rank - 2, 0, used);
  x = emit.reshape(
      x, {elementCount(moved) / (moved[rank - 2] * parts), used, parts});
  Transform transform{length, oneSided && !inverse ? length / 2 + 1 : length,
                      inverse ? 1 : -1, real ? 1 : 2};
  if (real) {
    x = doubled(emit, x, length);
  }
  if (inverse) { // first, as sums of 16 bits may have no room for more
    x = emit.mul(x, 1.0 / double(length));
  }
  Value y = transformed(emit, x, transform);
  moved[rank - 2] = transform.outputs;
  moved[rank - 1] = transform.parts;
  op.set(0, emit.moveAxis(emit.reshape(y, moved), rank - 2, axis));
}

/// Transforms frames of a signal, each multiplied by the window: a convolution,
/// whose weights are the transform of the window.
void emitStft(Op &op) {
  Emitter &emit = op.emit;
  checkComplex(op, 3);
  if (op.shape(0).size() != 3) {
    fail("the signal has shape ", shapeText(op.shape(0)), ", expected 3 dims");
  }
  Shape shape = op.shape(0);
  int64_t step = scalar(op, 1, "frame_step"), parts = shape[2];
  int64_t length = op.hasInput(3)   ? scalar(op, 3, "frame_length")
                   : op.hasInput(2) ? elementCount(op.shape(2))
                                    : shape[1];
  if (op.hasInput(2) && op.shape(2) != Shape{length}) {
    fail("the window has shape ", shapeText(op.shape(2)), ", expected ",
         length);
  }
  constexpr int64_t kMostOfFrame = 8192;
  if (length > shape[1] || length > kMostOfFrame) {
    fail("a frame of ", length, " elements: expected at most ", kMostOfFrame,
         ", and no more than the signal has, of shape ", shapeText(shape));
  }
  bool oneSided = op.intAttribute("onesided", 1) != 0;
  if (oneSided && parts == 2) {
    fail("onesided is set, and the signal is complex");
  }
  int64_t bins = oneSided ? length / 2 + 1 : length;
  mlir::Type element = Emitter::elementOf(op.value(0));
  Shape weights{bins, 2, parts, length};
  Value matrix = cosines(emit, weights, {3, 0, 2, 1}, {length}, element);
  if (op.hasInput(2)) {
    matrix = emit.mul(matrix, emit.convert(op.value(2), element));
  }
  int64_t frames = (shape[1] - length) / step + 1;
  Value y = emit.builder.create<nn::ConvolutionOp>(
      emit.location, emit.tensorType({shape[0], bins * 2, frames}, element),
      nn::ConvolutionKind::forward, emit.transpose(op.value(0), {0, 2, 1}),
      emit.reshape(matrix, {bins * 2, parts, length}), Shape{step}, Shape{0},
      Shape{1}, 1);
  op.set(0, emit.reshape(emit.transpose(y, {0, 2, 1}),
                         {shape[0], frames, bins, 2}));
}

const OpDef kOps[] = {
    {"DFT", 17, emitDft, nullptr, gradientTo<0>},
    {"STFT", 17, emitStft, nullptr, gradientTo<0, 2>},
};

} // namespace

llvm::ArrayRef<OpDef> fourierOps() { return kOps; }

} // namespace zerograph::frontend
