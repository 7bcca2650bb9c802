//===- Image.cpp - channels and blocks of images --------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::BinaryKind;

namespace zerograph::frontend {

namespace {

//===----------------------------------------------------------------------===//
// DepthToSpace, SpaceToDepth
//===----------------------------------------------------------------------===//

/// [samples, channels, rows, columns] and the attribute blocksize.
Shape imageOf(Op &op, int64_t &block) {
  Shape shape = op.shape(0);
  block = op.intAttribute("blocksize", 1);
  if (shape.size() != 4 || block < 1 || block > 1 << 15) {
    fail("needs an input of rank 4 and a blocksize of 1 or more, not ",
         shapeText(shape), " and ", block);
  }
  return shape;
}

void emitDepthToSpace(Op &op) {
  int64_t block;
  Shape s = imageOf(op, block);
  if (s[1] % (block * block) != 0) {
    fail(s[1], " channels are not a multiple of ", block * block);
  }
  int64_t channels = s[1] / (block * block);
  std::string mode = op.stringAttribute("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    fail("mode='", mode, "' is not known; 'DCR' and 'CRD' are");
  }
  Value x = op.value(0);
  if (mode == "DCR") { // the block's place stands in front of the channel
    x = op.emit.reshape(x, {s[0], block, block, channels, s[2], s[3]});
    x = op.emit.transpose(x, {0, 3, 4, 1, 5, 2});
  } else {
    x = op.emit.reshape(x, {s[0], channels, block, block, s[2], s[3]});
    x = op.emit.transpose(x, {0, 1, 4, 2, 5, 3});
  }
  op.set(0, op.emit.reshape(x, {s[0], channels, s[2] * block, s[3] * block}));
}

void emitSpaceToDepth(Op &op) {
  int64_t block;
  Shape s = imageOf(op, block);
  if (s[2] % block != 0 || s[3] % block != 0) {
    fail("an image of ", s[2], "x", s[3], " is not made of blocks of ", block,
         "x", block);
  }
  Value x = op.emit.reshape(
      op.value(0), {s[0], s[1], s[2] / block, block, s[3] / block, block});
  x = op.emit.transpose(x, {0, 3, 5, 1, 2, 4});
  op.set(0, op.emit.reshape(
                x, {s[0], s[1] * block * block, s[2] / block, s[3] / block}));
}

//===----------------------------------------------------------------------===//
// LRN
//===----------------------------------------------------------------------===//

/// Each channel is divided by a power of the squares around it.
void emitLrn(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  int64_t size = op.intAttribute("size", 1);
  if (shape.size() < 3 || size < 1 || size > 1 << 10) {
    fail("needs an input of rank 3 or more and a size from 1 to 1024, not ",
         shapeText(shape), " and ", size);
  }
  Shape padded = shape;
  std::vector<int64_t> low(shape.size(), 0);
  low[1] = (size - 1) / 2;
  padded[1] += size - 1;
  Value squares = emit.pad(emit.mul(x, x), low, padded, 0), sum;
  for (int64_t k = 0; k < size; ++k) {
    Value part = emit.sliceAxis(squares, 1, k, shape[1]);
    sum = sum ? emit.add(sum, part) : part;
  }
  Value base = emit.add(emit.mul(sum, op.floatAttribute("alpha", 1e-4f) / size),
                        op.floatAttribute("bias", 1));
  op.set(0, emit.div(x, emit.binary(BinaryKind::pow, base,
                                    op.floatAttribute("beta", 0.75f))));
}

//===----------------------------------------------------------------------===//
// Col2Im
//===----------------------------------------------------------------------===//

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
  std::vector<int64_t> image = op.constantInts(1, "image_shape");
  std::vector<int64_t> block = op.constantInts(2, "block_shape");
  size_t rank = image.size();
  auto attribute = [&](const char *name, size_t count, int64_t otherwise) {
    std::vector<int64_t> values = op.intsAttribute(name);
    values.resize(values.empty() ? count : values.size(), otherwise);
    if (values.size() != count) {
      fail(name, " has ", values.size(), " entries, but needs ", count);
    }
    return values;
  };
  std::vector<int64_t> strides = attribute("strides", rank, 1);
  std::vector<int64_t> dilations = attribute("dilations", rank, 1);
  std::vector<int64_t> pads = attribute("pads", 2 * rank, 0);
  Shape shape = op.shape(0);
  if (rank < 1 || block.size() != rank || shape.size() != 3) {
    fail("image_shape, block_shape and an input of shape ", shapeText(shape),
         " do not fit");
  }
  Shape counts, whole; // blocks and padded size, one an axis
  constexpr int64_t limit = 1 << 24;
  for (size_t i = 0; i < rank; ++i) {
    for (int64_t value : {image[i], block[i], strides[i], dilations[i],
                          pads[i] + 1, pads[i + rank] + 1}) {
      if (value < 1 || value > limit) {
        fail("a size, stride, dilation or pad of axis ", i, " is out of range");
      }
    }
    whole.push_back(image[i] + pads[i] + pads[i + rank]);
    int64_t room = whole[i] - dilations[i] * (block[i] - 1) - 1;
    if (room < 0) {
      fail("a block does not fit axis ", i, " of the image");
    }
    counts.push_back(room / strides[i] + 1);
  }
  int64_t taps = elementCount(block), places = elementCount(counts);
  if (shape[1] % taps != 0 || shape[2] != places || taps > 1 << 10) {
    fail("an input of shape ", shapeText(shape), " does not fit ", places,
         " blocks of ", taps, " elements");
  }
  Shape lead{shape[0], shape[1] / taps};
  auto withLead = [&](const Shape &rest) {
    Shape result = lead;
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
  };
  Value x = emit.reshape(op.value(0), {lead[0], lead[1], taps, places}), sum;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Value part = emit.reshape(emit.sliceAxis(x, 2, tap, 1), withLead(counts));
    std::vector<int64_t> low(2 + rank, 0);
    int64_t rest = tap;
    for (size_t i = rank; i-- > 0;) {
      part = spread(emit, part, 2 + i, strides[i]);
      low[2 + i] = rest % block[i] * dilations[i];
      rest /= block[i];
    }
    part = emit.pad(part, low, withLead(whole), 0);
    sum = sum ? emit.add(sum, part) : part;
  }
  for (size_t i = 0; i < rank; ++i) {
    sum = emit.sliceAxis(sum, 2 + i, pads[i], image[i]);
  }
  op.set(0, sum);
}

const OpDef kOps[] = {
    {"Col2Im", 18, emitCol2Im},
    {"DepthToSpace", 1, emitDepthToSpace},
    {"LRN", 1, emitLrn},
    {"SpaceToDepth", 1, emitSpaceToDepth},
};

} // namespace

llvm::ArrayRef<OpDef> imageOps() { return kOps; }

} // namespace zerograph::frontend
