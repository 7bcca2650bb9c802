//===- Reduce.cpp - reductions --------------------------------------------===//

#include "frontend/emit/Exponentials.h"
#include "frontend/ops/Ops.h"
#include "frontend/quirks/PyTorchGradients.h"

#include <algorithm>
#include <limits>
#include <numeric>

using mlir::Value;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// Axes of a reduction, an input in newer versions, else an attribute; all axes
/// if none is given, unless noop_with_empty_axes says otherwise: then none, and
/// `identity` is set.
std::vector<int64_t> axesOf(Op &op, bool &identity) {
  int64_t rank = op.shape(0).size();
  std::vector<int64_t> axes = op.intsInput(1, "axes");
  identity = axes.empty() && op.intAttribute("noop_with_empty_axes", 0) != 0;
  if (axes.empty() && !identity) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (int64_t &axis : axes) {
    axis = normalizeAxis(axis, rank);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (std::count(axes.begin(), axes.begin() + i, axes[i]) != 0) {
      fail("axis ", axes[i], " is given twice");
    }
  }
  return axes;
}

int64_t reducedCount(const Shape &shape, const std::vector<int64_t> &axes) {
  int64_t count = 1;
  for (int64_t axis : axes) {
    count *= shape[axis];
  }
  return count;
}

/// The function that an operator computes around a reduction along `axes`.
using Body = Value (*)(Emitter &, Value x, const std::vector<int64_t> &axes,
                       bool keep);

template <ReduceKind kind>
Value plain(Emitter &emit, Value x, const std::vector<int64_t> &axes,
            bool keep) {
  return emit.reduce(kind, x, axes, keep);
}

Value mean(Emitter &emit, Value x, const std::vector<int64_t> &axes,
           bool keep) {
  if (!Emitter::isFloat(x)) {
    fail("a mean of integers is not supported");
  }
  int64_t count = reducedCount(Emitter::shapeOf(x), axes);
  return emit.mul(emit.reduce(ReduceKind::sum, x, axes, keep), 1.0 / count);
}

Value sumSquare(Emitter &emit, Value x, const std::vector<int64_t> &axes,
                bool keep) {
  return emit.reduce(ReduceKind::sum, emit.mul(x, x), axes, keep);
}

Value l1(Emitter &emit, Value x, const std::vector<int64_t> &axes, bool keep) {
  return emit.reduce(ReduceKind::sum, emit.unary(UnaryKind::abs, x), axes,
                     keep);
}

Value l2(Emitter &emit, Value x, const std::vector<int64_t> &axes, bool keep) {
  return emit.unary(UnaryKind::sqrt, sumSquare(emit, x, axes, keep));
}

Value logSum(Emitter &emit, Value x, const std::vector<int64_t> &axes,
             bool keep) {
  return emit.unary(UnaryKind::log,
                    emit.reduce(ReduceKind::sum, x, axes, keep));
}

template <ReduceKind kind>
void emitExtremum(Op &op) {
  bool identity;
  std::vector<int64_t> axes = axesOf(op, identity);
  bool keep = identity || op.intAttribute("keepdims", 1) != 0;
  op.set(0,
         op.emit.reduce(kind, op.value(0), axes, keep, choosesFirst(op, axes)));
}

template <Body body>
void emitReduce(Op &op) {
  bool identity;
  std::vector<int64_t> axes = axesOf(op, identity);
  // Without axes only what is computed around the reduction remains.
  bool keep = identity || op.intAttribute("keepdims", 1) != 0;
  op.set(0, body(op.emit, op.value(0), axes, keep));
}

enum class Fold { sum, mean, max, min, prod };

/// One element of a fold: as a float, and, for integers, exactly.
struct Total {
  bool begun = false;
  double number = 0;
  int64_t integer = 0;

  void add(Fold kind, double value, int64_t whole) {
    if (!begun) {
      begun = true;
      number = value;
      integer = whole;
    } else if (kind == Fold::max) {
      number = maximum(number, value);
      integer = std::max(integer, whole);
    } else if (kind == Fold::min) {
      number = minimum(number, value);
      integer = std::min(integer, whole);
    } else if (kind == Fold::prod) {
      number *= value;
      integer = wrapMul(integer, whole);
    } else {
      number += value;
      integer = wrapAdd(integer, whole);
    }
  }

  /// Sets the result of no elements: the least number for max, and so on.
  void setEmpty(Fold kind) {
    constexpr double top = std::numeric_limits<double>::infinity();
    number = kind == Fold::prod  ? 1
             : kind == Fold::max ? -top
             : kind == Fold::min ? top
                                 : 0;
    integer = kind == Fold::prod;
  }
};

/// Returns whether the reduction of no elements is a number of the type.
bool hasEmptyValue(Fold kind, const HostTensor &x) {
  return kind != Fold::mean &&
         (x.isFloat() || kind == Fold::sum || kind == Fold::prod);
}

/// `x` reduced along `axes`, which stay as dims of size 1.
HostTensor reduced(Fold kind, const HostTensor &x,
                   const std::vector<int64_t> &axes) {
  Shape kept = x.shape();
  for (int64_t axis : axes) {
    kept[axis] = 1;
  }
  if (x.size() > HostTensor::kMaxElements) {
    throw TooLarge();
  }
  HostTensor result(x.type(), kept);
  std::vector<Total> totals(result.size());
  forEach(x.shape(), broadcastStrides(kept, x.shape()),
          [&](int64_t i, int64_t to) {
            totals[to].add(kind, x.floatAt(i), x.intAt(i));
          });
  int64_t count = reducedCount(x.shape(), axes);
  if (count == 0 && !hasEmptyValue(kind, x)) {
    fail("reduces an empty tensor");
  }
  for (int64_t i = 0; i < result.size(); ++i) {
    Total &total = totals[i];
    if (!total.begun) {
      total.setEmpty(kind);
    }
    bool mean = kind == Fold::mean;
    if (x.isFloat()) {
      result.setFloat(i, mean ? total.number / count : total.number);
    } else {
      result.setInt(i, mean ? total.integer / count : total.integer);
    }
  }
  return result;
}

template <Fold kind>
void foldReduce(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  bool identity;
  std::vector<int64_t> axes = axesOf(op, identity);
  HostTensor result = reduced(kind, x, axes);
  if (identity || op.intAttribute("keepdims", 1) != 0) {
    op.set(0, result);
    return;
  }
  Shape shape;
  for (int64_t dim = 0; dim < x.rank(); ++dim) {
    if (std::find(axes.begin(), axes.end(), dim) == axes.end()) {
      shape.push_back(x.shape()[dim]);
    }
  }
  op.set(0, result.reshaped(shape));
}

const OpDef kOps[] = {
    {"ReduceL1", 1, emitReduce<l1>, nullptr, gradientTo<0>},
    {"ReduceL2", 1, emitReduce<l2>, nullptr, gradientTo<0>},
    {"ReduceLogSum", 1, emitReduce<logSum>, nullptr, gradientTo<0>},
    {"ReduceLogSumExp", 1, emitReduce<logSumExp>, nullptr, gradientTo<0>},
    {"ReduceMax", 1, emitExtremum<ReduceKind::max>, foldReduce<Fold::max>,
     gradientTo<0>},
    {"ReduceMean", 1, emitReduce<mean>, foldReduce<Fold::mean>, gradientTo<0>},
    {"ReduceMin", 1, emitExtremum<ReduceKind::min>, foldReduce<Fold::min>,
     gradientTo<0>},
    {"ReduceProd", 1, emitReduce<plain<ReduceKind::prod>>,
     foldReduce<Fold::prod>, gradientTo<0>},
    {"ReduceSum", 1, emitReduce<plain<ReduceKind::sum>>, foldReduce<Fold::sum>,
     gradientTo<0>},
    {"ReduceSumSquare", 1, emitReduce<sumSquare>, nullptr, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> reduceOps() { return kOps; }

} // namespace zerograph::frontend
