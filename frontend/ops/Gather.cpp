//===- Gather.cpp - rows and elements of a table --------------------------===//
//
// nn.gather reads rows of a table. The other gathers become one too, over the
// data reshaped to a table, with computed row numbers.
//
//===----------------------------------------------------------------------===//

#include "frontend/emit/Synthesize.h"
#include "frontend/ops/Index.h"
#include "frontend/quirks/PyTorchGradients.h"

#include "passes/ir/nn/Padding.h"

#include <algorithm>

using mlir::Value;

namespace zerograph::frontend {

namespace {

Value indexValue(Op &op, int i, int64_t size) {
  return indexInto(op, op.value(i), op.host(i), size);
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

/// Rows of the table by `indices`. PyTorch gives the row of an embedding's
/// padding_idx no gradient.
Value lookUp(Op &op, Value table, Value indices,
             std::optional<int64_t> padding) {
  Value rows = op.emit.gather(table, indices);
  if (padding) {
    rows.getDefiningOp()->setAttr(mlir::zg::nn::kPaddingAttr,
                                  op.emit.builder.getI64IntegerAttr(*padding));
  }
  return rows;
}

bool holds(const HostTensor &indices, std::optional<int64_t> row) {
  for (int64_t i = 0; row && i < indices.size(); ++i) {
    if (indices.intAt(i) == *row) {
      return true;
    }
  }
  return false;
}

void emitGather(Op &op) {
  int64_t axis = gatherAxis(op);
  Shape shape = gatherShape(op, axis);
  if (gatherSplat(op, shape)) {
    return;
  }
  int64_t size = op.shape(0)[axis];
  std::optional<int64_t> padding = paddingRow(op);
  if (const HostTensor *indices = op.host(1)) {
    // Evenly spaced constant rows are a slice; its gradient needs no scatter.
    HostTensor rows = checkedIndices(op, *indices, size);
    std::optional<Progression> run = asProgression(rows);
    if (run && run->step != 0 && !holds(rows, padding)) {
      Value part = op.emit.sliceAxis(op.value(0), axis, run->first, rows.size(),
                                     run->step);
      op.set(0, op.emit.reshape(part, shape));
      return;
    }
  }
  Value table = op.emit.moveAxis(op.value(0), axis, 0);
  Value result = lookUp(op, table, indexValue(op, 1, size), padding);
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
      checkedIndices(op, op.constant(1, "indices"), data.shape()[axis]);
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
  int64_t batchDims, depth; ///< common dims, dims that an index addresses
  Shape data, lead, result; ///< lead: the indices' shape without its last dim
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
// GatherElements
//===----------------------------------------------------------------------===//

/// Returns whether one computed number of each row of floats is gathered, as
/// losses do that are written out: log_softmax(x)[label]. A logarithm may
/// follow a softmax; StableLog.h finds it through a gather.
bool picksOneOfRow(Op &op, int64_t axis, const Shape &data, Shape indices) {
  bool one = axis == int64_t(data.size()) - 1 && indices[axis] == 1;
  indices[axis] = data[axis];
  Value table = op.value(0);
  mlir::Operation *maker = table.getDefiningOp();
  while (maker && nn::moves(maker)) {
    maker = maker->getOperand(0).getDefiningOp();
  }
  return one && indices == data && maker && !mlir::isa<nn::SoftmaxOp>(maker) &&
         mlir::isa<mlir::FloatType>(Emitter::elementOf(table));
}

/// Sums the row without its other numbers. So all of it is read, but where it
/// is computed, and its gradient is no scatter into a tensor of its own.
Value pickOfRow(Emitter &emit, Value table, Value index, const Shape &data,
                int64_t axis) {
  Value place = emit.iota(axis, data, Emitter::elementOf(index));
  Value picked =
      emit.compare(nn::CompareKind::eq, place, emit.broadcastTo(index, data));
  return emit.reduce(nn::ReduceKind::sum,
                     emit.select(picked, table, emit.splatLike(0, table)),
                     {axis}, /*keepDims=*/true);
}

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
  if (picksOneOfRow(op, axis, data, shape)) {
    return op.set(0, pickOfRow(emit, op.value(0), index, data, axis));
  }
  Value row = elementNumber(emit, index, data, axis);
  Value table = emit.reshape(op.value(0), {elementCount(data)});
  op.set(0, emit.gather(table, row));
}

const OpDef kOps[] = {
    {"Gather", 1, emitGather, foldGather, gradientTo<0>},
    {"GatherElements", 11, emitGatherElements, nullptr, gradientTo<0>},
    {"GatherND", 11, emitGatherNd, foldGatherNd, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> gatherOps() { return kOps; }

} // namespace zerograph::frontend
