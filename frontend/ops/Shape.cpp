//===- Shape.cpp - shapes and conversions: the same elements --------------===//

#include "frontend/ops/Ops.h"

#include <algorithm>
#include <numeric>

using mlir::Value;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// A family of ops that differ in their result shape alone.
template <Shape (*shape)(Op &)>
void foldReshape(Op &op) {
  op.set(0, op.constant(0, "operand").reshaped(shape(op)));
}
template <Shape (*shape)(Op &)>
void emitReshape(Op &op) {
  op.set(0, op.emit.reshape(op.value(0), shape(op)));
}

Shape reshapeShape(Op &op) {
  Shape from = op.shape(0), to = op.constantInts(1, "shape");
  bool allowZero = op.intAttribute("allowzero", 0) != 0;
  int64_t open = -1, known = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !allowZero) {
      if (i >= from.size()) {
        fail("shape entry ", i, " copies a dimension that ", shapeText(from),
             " lacks");
      }
      to[i] = from[i];
    }
    if (to[i] == -1) {
      if (open >= 0) {
        fail("the shape has more than one -1");
      }
      open = i;
    } else if (__builtin_mul_overflow(known, to[i], &known) || to[i] < 0) {
      fail("cannot reshape ", shapeText(from), " to ", shapeText(to));
    }
  }
  if (open >= 0) {
    int64_t count = elementCount(from);
    if (known == 0 || count % known != 0) {
      fail("cannot reshape ", shapeText(from), " to ", shapeText(to));
    }
    to[open] = count / known;
  }
  return to;
}

Shape flattenShape(Op &op) {
  Shape from = op.shape(0);
  int64_t rank = from.size(), axis = op.intAttribute("axis", 1);
  if (axis < -rank || axis > rank) {
    fail("axis ", axis, " is not in a tensor of rank ", rank);
  }
  auto split = from.begin() + (axis < 0 ? axis + rank : axis);
  return {elementCount(Shape(from.begin(), split)),
          elementCount(Shape(split, from.end()))};
}

Shape squeezeShape(Op &op) {
  Shape from = op.shape(0), to;
  std::vector<bool> drop(from.size());
  if (op.hasIntsInput(1, "axes")) {
    for (int64_t axis : op.intsInput(1, "axes")) {
      axis = normalizeAxis(axis, from.size());
      if (from[axis] != 1) {
        fail("axis ", axis, " of shape ", shapeText(from), " is not 1");
      }
      drop[axis] = true;
    }
  } else {
    for (size_t i = 0; i < from.size(); ++i) {
      drop[i] = from[i] == 1;
    }
  }
  for (size_t i = 0; i < from.size(); ++i) {
    if (!drop[i]) {
      to.push_back(from[i]);
    }
  }
  return to;
}

Shape unsqueezeShape(Op &op) {
  Shape from = op.shape(0);
  std::vector<int64_t> axes = op.intsInput(1, "axes");
  int64_t rank = from.size() + axes.size();
  for (int64_t &axis : axes) {
    axis = normalizeAxis(axis, rank);
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    fail("an axis is there twice");
  }
  for (int64_t axis : axes) {
    from.insert(from.begin() + axis, 1);
  }
  return from;
}

//===----------------------------------------------------------------------===//
// Shape, Size, Identity
//===----------------------------------------------------------------------===//

void emitShape(Op &op) {
  Shape shape = op.shape(0);
  int64_t rank = shape.size();
  auto bound = [&](const char *name, int64_t otherwise) {
    int64_t value = op.intAttribute(name, otherwise);
    return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  int64_t start = bound("start", 0), end = bound("end", rank);
  Shape part;
  if (start < end) {
    part.assign(shape.begin() + start, shape.begin() + end);
  }
  op.set(0, HostTensor::ints(part));
}

void emitSize(Op &op) {
  op.set(0, HostTensor::scalar(elementCount(op.shape(0))));
}

void emitIdentity(Op &op) { op.forward(0, 0); }

//===----------------------------------------------------------------------===//
// Cast, CastLike
//===----------------------------------------------------------------------===//

int32_t castType(Op &op) {
  int32_t type = op.inputCount() == 1
                     ? static_cast<int32_t>(op.intAttribute("to", 0))
                     : op.type(1);
  if (typeBytes(type) == 0) {
    fail("conversion to ", typeName(type), " is not supported");
  }
  return type;
}

/// Only to a float type.
bool castCarriesGradient(const Graph &, const onnx::NodeProto &node, int) {
  for (const auto &attribute : node.attribute()) {
    if (attribute.name() == "to") {
      return isFloatType(static_cast<int32_t>(attribute.i()));
    }
  }
  return true;
}

void emitCast(Op &op) {
  int32_t type = castType(op);
  if (type == op.type(0)) {
    op.forward(0, 0);
    return;
  }
  const HostTensor *host = op.host(0);
  if (host != nullptr && op.inputCount() == 2 && !op.host(1)) {
    // CastLike: the second input matters by its type alone.
    op.set(0, foldUnary(
                  *host, type, [](int64_t v) { return v; },
                  [](double v) { return v; }));
    return;
  }
  op.set(0, op.emit.convert(op.value(0),
                            elementTypeOf(op.emit.builder.getContext(), type)));
}

void foldCast(Op &op) {
  op.set(0, foldUnary(
                op.constant(0, "operand"), castType(op),
                [](int64_t v) { return v; }, [](double v) { return v; }));
}

//===----------------------------------------------------------------------===//
// Transpose, Expand, Tile
//===----------------------------------------------------------------------===//

std::vector<int64_t> permutation(Op &op) {
  int64_t rank = op.shape(0).size();
  std::vector<int64_t> order = op.intsAttribute("perm");
  if (!op.hasAttribute("perm")) {
    for (int64_t i = rank; i-- > 0;) {
      order.push_back(i);
    }
  }
  std::vector<int64_t> sorted = order, all(rank);
  std::iota(all.begin(), all.end(), 0);
  std::sort(sorted.begin(), sorted.end());
  if (sorted != all) {
    fail("perm is not a permutation of ", rank, " dimensions");
  }
  return order;
}

void emitTranspose(Op &op) {
  op.set(0, op.emit.transpose(op.value(0), permutation(op)));
}

void foldTranspose(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  std::vector<int64_t> from = rowMajor(x.shape()), strides;
  Shape shape;
  for (int64_t dim : permutation(op)) {
    shape.push_back(x.shape()[dim]);
    strides.push_back(from[dim]);
  }
  op.set(0, remap(x, shape, 0, strides));
}

Shape expandShape(Op &op) {
  Shape shape = op.constantInts(1, "shape");
  elementCount(shape);
  return broadcastShapes(op.shape(0), shape);
}

void emitExpand(Op &op) {
  op.set(0, op.emit.broadcastTo(op.value(0), expandShape(op)));
}

void foldExpand(Op &op) {
  op.set(0, broadcastTo(op.constant(0, "operand"), expandShape(op)));
}

/// Tile as a broadcast of [1, d0, 1, d1, ...] to [r0, d0, r1, d1, ...].
struct Tiling {
  Shape split, repeated, result;
};

Tiling tilingOf(Op &op) {
  Shape shape = op.shape(0);
  std::vector<int64_t> repeats = op.constantInts(1, "repeats");
  if (repeats.size() != shape.size()) {
    fail("there are ", repeats.size(), " repeats for ", shape.size(),
         " dimensions");
  }
  Tiling tiling;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t size;
    if (repeats[i] < 0 || __builtin_mul_overflow(shape[i], repeats[i], &size)) {
      fail("repeats has the entry ", repeats[i]);
    }
    tiling.split.insert(tiling.split.end(), {1, shape[i]});
    tiling.repeated.insert(tiling.repeated.end(), {repeats[i], shape[i]});
    tiling.result.push_back(size);
  }
  return tiling;
}

void emitTile(Op &op) {
  Tiling tiling = tilingOf(op);
  Value x = op.emit.reshape(op.value(0), tiling.split);
  op.set(0, op.emit.reshape(op.emit.broadcastTo(x, tiling.repeated),
                            tiling.result));
}

void foldTile(Op &op) {
  Tiling tiling = tilingOf(op);
  HostTensor x = op.constant(0, "operand").reshaped(tiling.split);
  op.set(0, broadcastTo(x, tiling.repeated).reshaped(tiling.result));
}

const OpDef kOps[] = {
    {"Cast", 6, emitCast, foldCast, castCarriesGradient},
    {"CastLike", 15, emitCast, foldCast, gradientTo<0>},
    {"Expand", 8, emitExpand, foldExpand, gradientTo<0>},
    {"Flatten", 1, emitReshape<flattenShape>, foldReshape<flattenShape>},
    {"Identity", 1, emitIdentity, emitIdentity},
    {"Reshape", 5, emitReshape<reshapeShape>, foldReshape<reshapeShape>,
     gradientTo<0>},
    {"Shape", 1, emitShape, nullptr, gradientTo<>},
    {"Size", 1, emitSize, nullptr, gradientTo<>},
    {"Squeeze", 1, emitReshape<squeezeShape>, foldReshape<squeezeShape>,
     gradientTo<0>},
    {"Tile", 6, emitTile, foldTile, gradientTo<0>},
    {"Transpose", 1, emitTranspose, foldTranspose},
    {"Unsqueeze", 1, emitReshape<unsqueezeShape>, foldReshape<unsqueezeShape>,
     gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> shapeOps() { return kOps; }

} // namespace zerograph::frontend
