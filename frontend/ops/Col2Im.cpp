//===- Col2Im.cpp - blocks of columns back into images --------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;

namespace zerograph::frontend {

namespace {

/// The attributes and constant inputs, one entry per axis of the image.
struct Blocks {
  Shape image, block, strides, dilations, low, high;
  Shape counts; ///< how many blocks there are
  Shape padded; ///< the image and its pads
};

std::vector<int64_t> entries(Op &op, const char *name, size_t count,
                             int64_t otherwise) {
  std::vector<int64_t> values = op.intsAttribute(name);
  values.resize(values.empty() ? count : values.size(), otherwise);
  if (values.size() != count) {
    fail(name, " has ", values.size(), " entries, but needs ", count);
  }
  return values;
}

/// Computes how many blocks an axis has and its padded size.
void countBlocks(Blocks &b, size_t i) {
  constexpr int64_t limit = 1 << 24;
  for (int64_t value : {b.image[i], b.block[i], b.strides[i], b.dilations[i],
                        b.low[i] + 1, b.high[i] + 1}) {
    if (value < 1 || value > limit) {
      fail("a size, stride, dilation or pad of axis ", i, " is out of range");
    }
  }
  b.padded.push_back(b.image[i] + b.low[i] + b.high[i]);
  int64_t room = b.padded[i] - b.dilations[i] * (b.block[i] - 1) - 1;
  if (room < 0) {
    fail("a block does not fit axis ", i, " of the image");
  }
  b.counts.push_back(room / b.strides[i] + 1);
}

Blocks blocksOf(Op &op) {
  Blocks b;
  b.image = op.constantInts(1, "image_shape");
  b.block = op.constantInts(2, "block_shape");
  size_t rank = b.image.size();
  b.strides = entries(op, "strides", rank, 1);
  b.dilations = entries(op, "dilations", rank, 1);
  Shape pads = entries(op, "pads", 2 * rank, 0), shape = op.shape(0);
  b.low.assign(pads.begin(), pads.begin() + rank);
  b.high.assign(pads.begin() + rank, pads.end());
  if (rank < 1 || b.block.size() != rank || shape.size() != 3) {
    fail("image_shape, block_shape and an input of shape ", shapeText(shape),
         " do not fit");
  }
  for (size_t i = 0; i < rank; ++i) {
    countBlocks(b, i);
  }
  int64_t taps = elementCount(b.block), places = elementCount(b.counts);
  if (shape[1] % taps != 0 || shape[2] != places || taps > 1 << 10) {
    fail("an input of shape ", shapeText(shape), " does not fit ", places,
         " blocks of ", taps, " elements");
  }
  return b;
}

/// Puts `stride - 1` zeros between the elements of an axis.
Value spread(Emitter &emit, Value x, int64_t axis, int64_t stride) {
  if (stride == 1) {
    return x;
  }
  Shape shape = Emitter::shapeOf(x), open = shape;
  open.insert(open.begin() + axis + 1, 1);
  Shape wide = open;
  wide[axis + 1] = stride;
  x = emit.pad(emit.reshape(x, open), std::vector<int64_t>(open.size(), 0),
               wide, 0);
  int64_t used = (shape[axis] - 1) * stride + 1;
  shape[axis] *= stride;
  return emit.sliceAxis(emit.reshape(x, shape), axis, 0, used);
}

/// Adds each block's columns into the image they were taken from: one padded
/// addition for each place in the block.
void emitCol2Im(Op &op) {
  Emitter &emit = op.emit;
  Blocks b = blocksOf(op);
  size_t rank = b.image.size();
  int64_t taps = elementCount(b.block), places = elementCount(b.counts);
  Shape lead{op.shape(0)[0], op.shape(0)[1] / taps};
  auto withLead = [&](const Shape &rest) {
    Shape result = lead;
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
  };
  Value x = emit.reshape(op.value(0), {lead[0], lead[1], taps, places}), sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Value part = emit.reshape(emit.sliceAxis(x, 2, tap, 1), withLead(b.counts));
    std::vector<int64_t> low(2 + rank, 0);
    int64_t rest = tap;
    for (size_t i = rank; i-- > 0;) {
      part = spread(emit, part, 2 + i, b.strides[i]);
      low[2 + i] = rest % b.block[i] * b.dilations[i];
      rest /= b.block[i];
    }
    part = emit.pad(part, low, withLead(b.padded), 0);
    sum = sum ? emit.add(sum, part) : part;
  }
  for (size_t i = 0; i < rank; ++i) {
    sum = emit.sliceAxis(sum, 2 + i, b.low[i], b.image[i]);
  }
  op.set(0, sum);
}

const OpDef kOps[] = {
    {"Col2Im", 18, emitCol2Im},
};

} // namespace

llvm::ArrayRef<OpDef> col2ImOps() { return kOps; }

} // namespace zerograph::frontend
