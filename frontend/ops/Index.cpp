//===- Index.cpp - gathers ------------------------------------------------===//
//
// nn.gather reads rows of a table; every other gather becomes one over a
// reshaped table with a computed row number.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

#include "frontend/emit/ConstantGather.h"
#include "frontend/emit/Synthesize.h"

#include <algorithm>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// An index into `size` elements of input 0 made non-negative; fails outside of
/// [-size, size).
int64_t checkedIndex(Op &op, int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    fail("index ", index, " is outside of ", size, " elements of '",
         op.proto().input(0),
         "'; if it counts positions, a dim (--dim, or the data's) is larger "
         "than the model was made for");
  }
  return index < 0 ? index + size : index;
}

/// Constant indices into `size` elements, checked, none negative.
HostTensor normalizedIndices(Op &op, const HostTensor &indices, int64_t size) {
  if (indices.isFloat()) {
    fail("the indices must be integers");
  }
  return foldUnary(
      indices, TensorProto::INT64,
      [&op, size](int64_t index) { return checkedIndex(op, index, size); },
      [](double) { return 0.0; });
}

Value indexValue(Op &op, int i, int64_t size) {
  return indexInto(op, op.value(i), op.host(i), size);
}

/// If the gathered data is all one value the indices don't matter.
bool gatherSplat(Op &op, const Shape &shape) {
  const HostTensor *data = op.host(0);
  if (data == nullptr || !data->isSplat()) {
    return false;
  }
  op.set(0, remap(*data, shape, 0, std::vector<int64_t>(shape.size(), 0)));
  return true;
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

Shape gatherShape(Op &op, int64_t axis) {
  Shape shape = op.shape(0), indices = op.shape(1);
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.begin(), indices.end());
  return shape;
}

int64_t gatherAxis(Op &op) {
  return normalizeAxis(op.intAttribute("axis", 0), op.shape(0).size());
}

void emitGather(Op &op) {
  int64_t axis = gatherAxis(op);
  Shape shape = gatherShape(op, axis);
  if (gatherSplat(op, shape)) {
    return;
  }
  int64_t size = op.shape(0)[axis];
  if (const HostTensor *indices = op.host(1)) {
    // Evenly spaced constant rows are a slice; its gradient needs no scatter.
    HostTensor rows = normalizedIndices(op, *indices, size);
    std::optional<Progression> run = asProgression(rows);
    if (run && run->step != 0) {
      Value part = op.emit.sliceAxis(op.value(0), axis, run->first, rows.size(),
                                     run->step);
      op.set(0, op.emit.reshape(part, shape));
      return;
    }
  }
  Value table = op.emit.moveAxis(op.value(0), axis, 0);
  Value result = op.emit.gather(table, indexValue(op, 1, size));
  // [indices..., rest...] -> the indices' dims to `axis`.
  int64_t rank = op.shape(1).size();
  std::vector<int64_t> order;
  for (int64_t i = 0; i < axis; ++i) {
    order.push_back(rank + i);
  }
  for (int64_t i = 0; i < rank; ++i) {
    order.push_back(i);
  }
  for (int64_t i = rank + axis; i < Emitter::rankOf(result); ++i) {
    order.push_back(i);
  }
  op.set(0, op.emit.transpose(result, order));
}

void foldGather(Op &op) {
  const HostTensor &data = op.constant(0, "data");
  int64_t axis = gatherAxis(op);
  Shape shape = gatherShape(op, axis);
  HostTensor rows =
      normalizedIndices(op, op.constant(1, "indices"), data.shape()[axis]);
  if (gatherSplat(op, shape)) {
    return;
  }
  HostTensor result(data.type(), shape);
  int64_t inner = rowMajor(data.shape())[axis], size = data.shape()[axis];
  int64_t count = rows.size();
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t rest = i % inner, row = i / inner % count;
    int64_t outer = i / inner / count;
    result.copyFrom(i, data, (outer * size + rows.intAt(row)) * inner + rest);
  }
  op.set(0, result);
}

//===----------------------------------------------------------------------===//
// GatherND
//===----------------------------------------------------------------------===//

struct GatherNd {
  int64_t batchDims, depth; ///< dims shared, dims an index addresses
  Shape data, lead, result; ///< lead: the indices' shape but its last dim
};

GatherNd gatherNd(Op &op) {
  GatherNd nd{
      op.intAttribute("batch_dims", 0), 0, op.shape(0), op.shape(1), {}};
  int64_t rank = nd.data.size(), indexRank = nd.lead.size();
  if (indexRank < 1 || nd.batchDims < 0 ||
      nd.batchDims >= std::min(rank, indexRank)) {
    fail("batch_dims ", nd.batchDims, " does not fit data ", shapeText(nd.data),
         " and indices ", shapeText(nd.lead));
  }
  nd.depth = nd.lead.back();
  nd.lead.pop_back();
  if (nd.depth < 1 || nd.batchDims + nd.depth > rank) {
    fail("indices of length ", nd.depth, " do not fit data ",
         shapeText(nd.data));
  }
  for (int64_t i = 0; i < nd.batchDims; ++i) {
    if (nd.lead[i] != nd.data[i]) {
      fail("batch dims of data ", shapeText(nd.data), " and indices ",
           shapeText(op.shape(1)), " differ");
    }
  }
  nd.result = nd.lead;
  nd.result.insert(nd.result.end(), nd.data.begin() + nd.batchDims + nd.depth,
                   nd.data.end());
  return nd;
}

void emitGatherNd(Op &op) {
  GatherNd nd = gatherNd(op);
  if (gatherSplat(op, nd.result)) {
    return;
  }
  Emitter &emit = op.emit;
  Value indices = op.value(1);
  mlir::Type element = Emitter::elementOf(indices);
  Shape strides = rowMajor(
      Shape(nd.data.begin(), nd.data.begin() + nd.batchDims + nd.depth));
  Value row;
  auto addTerm = [&](Value index, int64_t dim) {
    Value term = emit.mul(index, static_cast<double>(strides[dim]));
    row = row ? emit.add(row, term) : term;
  };
  for (int64_t dim = 0; dim < nd.batchDims; ++dim) {
    addTerm(emit.iota(dim, nd.lead, element), dim);
  }
  for (int64_t k = 0; k < nd.depth; ++k) {
    addTerm(indexColumn(op, k, nd.data[nd.batchDims + k]), nd.batchDims + k);
  }
  Shape table(nd.data.begin() + nd.batchDims + nd.depth, nd.data.end());
  table.insert(table.begin(), strides[0] * nd.data[0]);
  op.set(0, emit.gather(emit.reshape(op.value(0), table), row));
}

void foldGatherNd(Op &op) {
  const HostTensor &data = op.constant(0, "data");
  const HostTensor &indices = op.constant(1, "indices");
  GatherNd nd = gatherNd(op);
  if (indices.isFloat()) {
    fail("the indices must be integers");
  }
  if (gatherSplat(op, nd.result)) {
    return;
  }
  HostTensor result(data.type(), nd.result);
  int64_t rows = elementCount(nd.lead);
  int64_t inner = rows == 0 ? 1 : result.size() / std::max<int64_t>(rows, 1);
  std::vector<int64_t> strides = rowMajor(nd.data), lead = rowMajor(nd.lead);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t base = 0;
    for (int64_t dim = 0; dim < nd.batchDims; ++dim) {
      base += row / lead[dim] % nd.lead[dim] * strides[dim];
    }
    for (int64_t k = 0; k < nd.depth; ++k) {
      int64_t dim = nd.batchDims + k;
      base +=
          checkedIndex(op, indices.intAt(row * nd.depth + k), nd.data[dim]) *
          strides[dim];
    }
    for (int64_t i = 0; i < inner; ++i) {
      result.copyFrom(row * inner + i, data, base + i);
    }
  }
  op.set(0, result);
}

//===----------------------------------------------------------------------===//
// GatherElements, OneHot
//===----------------------------------------------------------------------===//

void emitGatherElements(Op &op) {
  int64_t axis = gatherAxis(op);
  Shape data = op.shape(0), shape = op.shape(1);
  if (data.size() != shape.size()) {
    fail("data ", shapeText(data), " and indices ", shapeText(shape),
         " differ in rank");
  }
  for (size_t i = 0; i < data.size(); ++i) {
    if (static_cast<int64_t>(i) != axis && shape[i] > data[i]) {
      fail("indices ", shapeText(shape), " exceed data ", shapeText(data));
    }
  }
  if (gatherSplat(op, shape)) {
    return;
  }
  Emitter &emit = op.emit;
  Value index = indexValue(op, 1, data[axis]);
  Value row = elementNumber(emit, index, data, axis);
  Value table = emit.reshape(op.value(0), {elementCount(data)});
  op.set(0, emit.gather(table, row));
}

//===----------------------------------------------------------------------===//
// Compress, ReverseSequence, NonZero
//===----------------------------------------------------------------------===//

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

/// The first elements of each sequence, as many as it is long, backwards.
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
  Value lengths = op.value(1);
  if (op.host(1) == nullptr) {
    op.boundInput(lengths, 0, shape[0]);
  }
  lengths = emit.convert(lengths, emit.builder.getI64Type());
  // None is longer than the sequences are.
  lengths = emit.binary(mlir::zg::nn::BinaryKind::min, lengths,
                        static_cast<double>(shape[0]));
  Shape lead{shape[0], shape[1]};
  lengths = emit.broadcastTo(lengths, lead);
  Value step = emit.iota(0, lead, emit.builder.getI64Type());
  Value mirrored = emit.sub(emit.add(lengths, -1.0), step);
  Value from =
      emit.select(emit.compare(CompareKind::lt, step, lengths), mirrored, step);
  Value row = emit.add(emit.mul(from, static_cast<double>(shape[1])),
                       emit.iota(1, lead, emit.builder.getI64Type()));
  table.erase(table.begin());
  table[0] = shape[0] * shape[1];
  Value y = emit.gather(emit.reshape(x, table), row);
  op.set(0, time != 0 ? emit.moveAxis(y, 0, 1) : y);
}

void emitNonZero(Op &op) {
  op.constant(0, "X"); // says what it depends on
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

void emitOneHot(Op &op) {
  const HostTensor &depthValue = op.constant(1, "depth");
  if (depthValue.size() != 1 || op.shape(2) != Shape{2}) {
    fail("needs one depth and two values");
  }
  int64_t depth = depthValue.intAt(0);
  Emitter &emit = op.emit;
  Value indices = emit.convert(op.value(0), emit.builder.getI64Type());
  Shape shape = Emitter::shapeOf(indices);
  int64_t axis = normalizeAxis(op.intAttribute("axis", -1), shape.size() + 1);
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

const OpDef kOps[] = {
    {"Compress", 9, emitCompress},
    {"Gather", 1, emitGather, foldGather, gradientTo<0>},
    {"GatherElements", 11, emitGatherElements, nullptr, gradientTo<0>},
    {"GatherND", 11, emitGatherNd, foldGatherNd, gradientTo<0>},
    {"NonZero", 9, emitNonZero, foldNonZero, gradientTo<>},
    {"OneHot", 9, emitOneHot, nullptr, gradientTo<>},
    {"ReverseSequence", 10, emitReverseSequence},
};

} // namespace

Value indexInto(Op &op, Value indices, const HostTensor *host, int64_t size) {
  if (Emitter::isFloat(indices) || Emitter::elementOf(indices).isInteger(1)) {
    fail("the indices must be integers");
  }
  bool negative = true, checked = false;
  if (host != nullptr) {
    negative = false;
    checked = true;
    int64_t count = host->isSplat() ? 1 : host->size();
    for (int64_t k = 0; k < count; ++k) {
      negative |= checkedIndex(op, host->intAt(k), size) != host->intAt(k);
    }
  } else {
    checked = op.boundInput(indices, -size, size - 1);
  }
  Emitter &emit = op.emit;
  if (negative) {
    indices =
        emit.select(emit.compare(CompareKind::lt, indices, 0.0),
                    emit.add(indices, static_cast<double>(size)), indices);
  }
  if (!checked) {
    indices = emit.binary(BinaryKind::max, indices, 0.0);
    indices = emit.binary(BinaryKind::min, indices, double(size - 1));
  }
  return indices;
}

Value elementNumber(Emitter &emit, Value index, const Shape &data,
                    int64_t axis) {
  Shape shape = Emitter::shapeOf(index);
  std::vector<int64_t> strides = rowMajor(data);
  Value number = emit.mul(index, static_cast<double>(strides[axis]));
  for (int64_t dim = 0; dim < static_cast<int64_t>(data.size()); ++dim) {
    if (dim != axis && shape[dim] > 1) {
      Value term = emit.iota(dim, shape, Emitter::elementOf(index));
      number =
          emit.add(number, emit.mul(term, static_cast<double>(strides[dim])));
    }
  }
  return number;
}

Value indexColumn(Op &op, int64_t k, int64_t size) {
  Value indices = op.value(1);
  Shape lead = Emitter::shapeOf(indices);
  int64_t last = lead.size() - 1;
  lead.pop_back();
  HostTensor part;
  const HostTensor *host = op.host(1);
  if (host != nullptr) {
    std::vector<int64_t> strides = rowMajor(host->shape());
    strides.pop_back();
    part = remap(*host, lead, k, strides);
  }
  Value column = op.emit.reshape(op.emit.sliceAxis(indices, last, k, 1), lead);
  return indexInto(op, column, host != nullptr ? &part : nullptr, size);
}

llvm::ArrayRef<OpDef> indexOps() { return kOps; }

} // namespace zerograph::frontend
