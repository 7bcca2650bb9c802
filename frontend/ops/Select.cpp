//===- Select.cpp - elements that a condition or a length chooses ---------===//

#include "frontend/emit/ConstantGather.h"
#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// The elements along an axis at which a constant condition holds.
void emitCompress(Op &op) {
  const HostTensor &condition = op.constant(1, "condition");
  Value x = op.value(0);
  if (!op.hasAttribute("axis")) {
    x = op.emit.reshape(x, {elementCount(op.shape(0))});
  }
  int64_t axis = normalizeAxis(op.intAttribute("axis", 0), Emitter::rankOf(x));
  int64_t size = Emitter::shapeOf(x)[axis];
  if (condition.rank() != 1 || condition.size() > size) {
    fail("condition has shape ", shapeText(condition.shape()), " for ", size,
         " elements");
  }
  std::vector<int64_t> places;
  for (int64_t i = 0; i < condition.size(); ++i) {
    if (condition.intAt(i) != 0) {
      places.push_back(i);
    }
  }
  if (places.empty()) {
    fail("nothing is left; only constants may be empty");
  }
  op.set(0, gatherConstant(op.emit, x, axis, places));
}

/// For each step and sequence the step that it is taken from: mirrored within
/// the sequence's length, else itself. `lead` is [steps, sequences].
Value mirroredSteps(Op &op, const Shape &lead) {
  Emitter &emit = op.emit;
  Value lengths = op.value(1);
  if (op.host(1) == nullptr) {
    op.boundInput(lengths, 0, lead[0]);
  }
  lengths = emit.convert(lengths, emit.builder.getI64Type());
  // None is longer than the sequences are.
  lengths = emit.binary(BinaryKind::min, lengths, static_cast<double>(lead[0]));
  lengths = emit.broadcastTo(lengths, lead);
  Value step = emit.iota(0, lead, emit.builder.getI64Type());
  Value mirrored = emit.sub(emit.add(lengths, -1.0), step);
  return emit.select(emit.compare(CompareKind::lt, step, lengths), mirrored,
                     step);
}

/// Reverses the first elements of each sequence, as many as its length says.
void emitReverseSequence(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  int64_t time = op.intAttribute("time_axis", 0);
  int64_t batch = op.intAttribute("batch_axis", 1);
  if (Emitter::rankOf(x) < 2 || time + batch != 1 || time * batch != 0) {
    fail("needs rank 2 or more, and time_axis and batch_axis 0 and 1");
  }
  if (time != 0) {
    x = emit.moveAxis(x, 1, 0);
  }
  Shape shape = Emitter::shapeOf(x), table = shape;
  if (op.shape(1) != Shape{shape[1]}) {
    fail("sequence_lens has shape ", shapeText(op.shape(1)), " for ", shape[1],
         " sequences");
  }
  Shape lead{shape[0], shape[1]};
  Value from = mirroredSteps(op, lead);
  Value row = emit.add(emit.mul(from, static_cast<double>(shape[1])),
                       emit.iota(1, lead, emit.builder.getI64Type()));
  table.erase(table.begin());
  table[0] = shape[0] * shape[1];
  Value y = emit.gather(emit.reshape(x, table), row);
  op.set(0, time != 0 ? emit.moveAxis(y, 0, 1) : y);
}

void emitNonZero(Op &op) {
  if (!op.host(0)) {
    fail("how many elements are not 0 must be known while compiling, but "
         "depends on ",
         op.context.nodes.describeOrigins(op.proto().input(0)),
         "; in place of indexing by a mask, x[mask], multiply by it or write a "
         "Where; labels are left out of a loss by its ignore_index");
  }
  throw TooLarge();
}

void foldNonZero(Op &op) {
  const HostTensor &x = op.constant(0, "X");
  std::vector<int64_t> places;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.floatAt(i) != 0) {
      places.push_back(i);
    }
  }
  int64_t rank = x.rank(), count = places.size();
  std::vector<int64_t> strides = rowMajor(x.shape());
  HostTensor result(TensorProto::INT64, {rank, count});
  for (int64_t dim = 0; dim < rank; ++dim) {
    for (int64_t k = 0; k < count; ++k) {
      result.setInt(dim * count + k, places[k] / strides[dim] % x.shape()[dim]);
    }
  }
  op.set(0, result);
}

struct OneHot {
  int64_t depth, axis; // as many numbers, at a new dim
  Shape shape;         // of the indices
};

OneHot oneHot(Op &op) {
  const HostTensor &depth = op.constant(1, "depth");
  if (depth.size() != 1 || op.shape(2) != Shape{2}) {
    fail("needs one depth and two values");
  }
  Shape shape = op.shape(0);
  int64_t axis = normalizeAxis(op.intAttribute("axis", -1), shape.size() + 1);
  if (depth.intAt(0) < 0) {
    fail("the depth is ", depth.intAt(0), ", which is below 0");
  }
  return {depth.intAt(0), axis, shape};
}

void emitOneHot(Op &op) {
  auto [depth, axis, shape] = oneHot(op);
  Emitter &emit = op.emit;
  Value indices = emit.convert(op.value(0), emit.builder.getI64Type());
  Shape open = shape;
  open.insert(open.begin() + axis, 1);
  shape.insert(shape.begin() + axis, depth);
  indices = emit.select(emit.compare(CompareKind::lt, indices, 0.0),
                        emit.add(indices, static_cast<double>(depth)), indices);
  Value hit = emit.compare(CompareKind::eq, emit.reshape(indices, open),
                           emit.iota(axis, shape, emit.builder.getI64Type()));
  Value values = op.value(2);
  Value off = emit.reshape(emit.sliceAxis(values, 0, 0, 1), {});
  Value on = emit.reshape(emit.sliceAxis(values, 0, 1, 1), {});
  op.set(0, emit.select(hit, on, off));
}

void foldOneHot(Op &op) {
  auto [depth, axis, shape] = oneHot(op);
  const HostTensor &indices = op.constant(0, "indices");
  const HostTensor &values = op.constant(2, "values");
  int64_t inner = elementCount(Shape(shape.begin() + axis, shape.end()));
  shape.insert(shape.begin() + axis, depth);
  HostTensor result(values.type(), shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    result.copyFrom(i, values, 0);
  }
  for (int64_t i = 0; i < indices.size(); ++i) {
    int64_t at = indices.intAt(i);
    at += at < 0 ? depth : 0;
    if (at >= 0 && at < depth) {
      result.copyFrom((i / inner * depth + at) * inner + i % inner, values, 1);
    }
  }
  op.set(0, result);
}

const OpDef kOps[] = {
    {"Compress", 9, emitCompress},
    {"NonZero", 9, emitNonZero, foldNonZero, gradientTo<>},
    {"OneHot", 9, emitOneHot, foldOneHot, gradientTo<>},
    {"ReverseSequence", 10, emitReverseSequence},
};

} // namespace

llvm::ArrayRef<OpDef> selectOps() { return kOps; }

} // namespace zerograph::frontend
