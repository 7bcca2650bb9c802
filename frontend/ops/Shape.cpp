//===- Shape.cpp - the same elements in another shape ---------------------===//

#include "frontend/ops/Ops.h"
#include "frontend/quirks/PyTorchGradients.h"

#include <algorithm>

namespace zerograph::frontend {

namespace {

// These operators differ only in the shape of their result.
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

bool carriesThroughIdentity(const Graph &, const onnx::NodeProto &node, int) {
  return !stopsGradient(node);
}

void foldIdentity(Op &op) { op.forward(0, 0); }

void emitIdentity(Op &op) {
  bool trains = !op.context.loss.name().empty();
  if (trains && stopsGradient(op.proto()) && Emitter::isFloat(op.value(0))) {
    op.set(0, op.emit.stopGradient(op.value(0)));
  } else {
    op.forward(0, 0);
  }
}

const OpDef kOps[] = {
    {"Flatten", 1, emitReshape<flattenShape>, foldReshape<flattenShape>},
    {"Identity", 1, emitIdentity, foldIdentity, carriesThroughIdentity},
    {"Reshape", 5, emitReshape<reshapeShape>, foldReshape<reshapeShape>,
     gradientTo<0>},
    {"Shape", 1, emitShape, nullptr, gradientTo<>},
    {"Size", 1, emitSize, nullptr, gradientTo<>},
    {"Squeeze", 1, emitReshape<squeezeShape>, foldReshape<squeezeShape>,
     gradientTo<0>},
    {"Unsqueeze", 1, emitReshape<unsqueezeShape>, foldReshape<unsqueezeShape>,
     gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> shapeOps() { return kOps; }

} // namespace zerograph::frontend
