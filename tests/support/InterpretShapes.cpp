//===- InterpretShapes.cpp - what moves elements or brings them together --===//

#include "passes/ir/nn/NNDialect.h"
#include "tests/support/Frame.h"
#include "tests/support/Scalar.h"
#include <cmath>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

using Index = SmallVector<int64_t>;

void Frame::run(BroadcastOp op) {
  ArrayRef<int64_t> from = op.getOperand().getType().getShape();
  view(op, op.getOperand(), [&](ArrayRef<int64_t> index) {
    Index source(index);
    for (auto [i, size] : llvm::zip(source, from)) {
      i = size == 1 ? 0 : i;
    }
    return source;
  });
}

void Frame::run(ReshapeOp op) {
  Tensor tensor = get(op.getOperand());
  tensor.shape.assign(op.getType().getShape().begin(),
                      op.getType().getShape().end());
  values[op] = tensor;
}

void Frame::run(TransposeOp op) {
  view(op, op.getOperand(), [&](ArrayRef<int64_t> index) {
    Index source(index.size());
    for (auto [to, from] : llvm::enumerate(op.getPermutation())) {
      source[from] = index[to];
    }
    return source;
  });
}

void Frame::run(SliceOp op) {
  view(op, op.getOperand(), [&](ArrayRef<int64_t> index) {
    Index source(index);
    for (size_t dim = 0; dim < index.size(); ++dim) {
      source[dim] = op.getStarts()[dim] + index[dim] * op.getSteps()[dim];
    }
    return source;
  });
}

void Frame::run(TakeRowsOp op) {
  view(op, op.getOperand(), [&](ArrayRef<int64_t> index) {
    Index source(index);
    source[0] += op.getFirst();
    return source;
  });
}

void Frame::run(JoinRowsOp op) {
  Tensor y = empty(op);
  y.values.clear();
  for (Value part : op.getParts()) {
    llvm::append_range(y.values, get(part).values);
  }
  values[op] = y;
}

void Frame::run(PadOp op) {
  const Tensor x = get(op.getOperand());
  Tensor y = filled(op.getType(), scalarValue(op.getValue()));
  size_t position = 0;
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index) {
    Index target(index);
    for (auto [i, low] : llvm::zip(target, op.getLow())) {
      i += low;
    }
    y.values[linear(y.shape, target)] = x.values[position++];
  });
  values[op] = y;
}

void Frame::run(ConcatOp op) {
  Tensor y = empty(op);
  int64_t begin = 0;
  for (Value operand : op.getOperands()) {
    const Tensor &x = get(operand);
    size_t position = 0;
    forEachIndex(x.shape, [&](ArrayRef<int64_t> index) {
      Index target(index);
      target[op.getDim()] += begin;
      y.values[linear(y.shape, target)] = x.values[position++];
    });
    begin += x.shape[op.getDim()];
  }
  values[op] = y;
}

void Frame::run(ReduceOp op) {
  const Tensor x = get(op.getOperand());
  Tensor y = filled(op.getType(), neutral(op.getKind(), x.element));
  size_t position = 0;
  forEachIndex(x.shape, [&](ArrayRef<int64_t> index) {
    Index target(index);
    for (int64_t dim : op.getDims()) {
      target[dim] = 0;
    }
    double &sum = y.values[linear(y.shape, target)];
    sum = applyBinary(binaryOf(op.getKind()), x.element, sum,
                      x.values[position++]);
  });
  values[op] = y;
}

void Frame::run(PoolOp op) {
  const Tensor x = get(op.getOperand());
  Tensor y = empty(op.getResult());
  bool isMax = op.getKind() == ReduceKind::max;
  Tensor place = isMax ? empty(op.getPlace()) : Tensor();
  int64_t dim = op.getDim(), at = 0;
  forEachIndex(y.shape, [&](ArrayRef<int64_t> window) {
    double best = neutral(op.getKind(), x.element);
    std::optional<double> where;
    for (int64_t t = 0, size = op.getWindow(); t < size; ++t) {
      Index index(window);
      int64_t p = t * op.getDilation();
      index[dim] = window[dim] * op.getStride() - op.getLow() + p;
      if (index[dim] < 0 || index[dim] >= x.shape[dim]) {
        continue;
      }
      double next = x.values[linear(x.shape, index)];
      if (!isMax) {
        best = applyBinary(BinaryKind::add, x.element, best, next);
      } else if (!where || next > best || std::isnan(next)) {
        best = next;
        where = p;
      }
    }
    y.values[at] = best;
    if (isMax) {
      place.values[at] = where.value_or(0);
    }
    ++at;
  });
  values[op.getResult()] = y;
  if (isMax) {
    values[op.getPlace()] = place;
  }
}

void Frame::run(CumsumOp op) {
  const Tensor x = get(op.getOperand());
  Tensor y = empty(op);
  int64_t dim = op.getDim(), size = x.shape[dim];
  Index lines(x.shape);
  lines[dim] = 1;
  forEachIndex(lines, [&](ArrayRef<int64_t> line) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      Index index(line);
      index[dim] = op.getReverse() ? size - 1 - i : i;
      int64_t at = linear(x.shape, index);
      double next = applyBinary(BinaryKind::add, x.element, sum, x.values[at]);
      y.values[at] = op.getExclusive() ? sum : next;
      sum = next;
    }
  });
  values[op] = y;
}

/// The row of a table of `rows` that an index means.
static int64_t clampedRow(double index, int64_t rows) {
  return std::clamp<int64_t>(static_cast<int64_t>(index), 0, rows - 1);
}

void Frame::run(GatherOp op) {
  const Tensor table = get(op.getTable()), ids = get(op.getIndices());
  Tensor y = empty(op);
  size_t row = table.values.size() / table.shape[0];
  for (size_t i = 0; i < ids.values.size(); ++i) {
    int64_t from = clampedRow(ids.values[i], table.shape[0]);
    std::copy_n(table.values.begin() + from * row, row,
                y.values.begin() + i * row);
  }
  values[op] = y;
}

void Frame::run(ScatterOp op) {
  const Tensor ids = get(op.getIndices()), rows = get(op.getUpdates());
  Tensor y = op.getInto() ? get(op.getInto()) : empty(op);
  size_t row = y.values.size() / y.shape[0];
  std::optional<ReduceKind> combine = op.getCombine();
  for (size_t i = 0; i < ids.values.size(); ++i) {
    int64_t to = clampedRow(ids.values[i], y.shape[0]);
    for (size_t r = 0; r < row; ++r) {
      double &old = y.values[to * row + r];
      double update = rows.values[i * row + r];
      old = combine ? applyBinary(binaryOf(*combine), y.element, old, update)
                    : update;
    }
  }
  values[op] = y;
}
