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
  if (mode == "DCR") { // channels are ordered by place in the block first
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

/// Divides each channel by a power of the sum of its neighbours' squares.
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

const OpDef kOps[] = {
    {"DepthToSpace", 1, emitDepthToSpace},
    {"LRN", 1, emitLrn},
    {"SpaceToDepth", 1, emitSpaceToDepth},
};

} // namespace

llvm::ArrayRef<OpDef> imageOps() { return kOps; }

} // namespace zerograph::frontend
