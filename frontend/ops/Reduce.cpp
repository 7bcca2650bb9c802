//===- Reduce.cpp - reductions and running sums ---------------------------===//

#include "frontend/ops/Ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using mlir::Value;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// Axes of a reduction: an input in newer versions, else an attribute.
/// Nothing: all of them; `identity`: noop_with_empty_axes applies.
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

/// Value -> value around a reduction, given the reduction itself.
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

/// Of nothing but zeros the gradient is zero, one of its subgradients, as in
/// PyTorch: the root is taken of what is not zero.
Value l2(Emitter &emit, Value x, const std::vector<int64_t> &axes, bool keep) {
  Value sum = sumSquare(emit, x, axes, keep);
  Value zero = emit.compare(CompareKind::eq, sum, 0.0);
  Value root = emit.unary(UnaryKind::sqrt,
                          emit.select(zero, emit.splatLike(1, sum), sum));
  return emit.select(zero, sum, root);
}

Value logSum(Emitter &emit, Value x, const std::vector<int64_t> &axes,
             bool keep) {
  return emit.unary(UnaryKind::log,
                    emit.reduce(ReduceKind::sum, x, axes, keep));
}

Value logSumExp(Emitter &emit, Value x, const std::vector<int64_t> &axes,
                bool keep) {
  Value top = emit.reduce(ReduceKind::max, x, axes, true);
  // Where all are infinite, x - top would not be a number.
  top = emit.select(emit.unary(UnaryKind::is_inf, top), emit.splatLike(0, top),
                    top);
  Value sum =
      emit.reduce(ReduceKind::sum, emit.unary(UnaryKind::exp, emit.sub(x, top)),
                  axes, true);
  Value result = emit.add(top, emit.unary(UnaryKind::log, sum));
  Shape shape = Emitter::shapeOf(emit.reduce(ReduceKind::max, x, axes, keep));
  return emit.reshape(result, shape);
}

template <Body body>
void emitReduce(Op &op) {
  bool identity;
  std::vector<int64_t> axes = axesOf(op, identity);
  // With no axes the functions around the sum still apply.
  bool keep = identity || op.intAttribute("keepdims", 1) != 0;
  op.set(0, body(op.emit, op.value(0), axes, keep));
}

enum class Fold { sum, mean, max, min, prod };

template <Fold kind>
void foldReduce(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  bool identity;
  std::vector<int64_t> axes = axesOf(op, identity);
  Shape kept = x.shape(), dropped;
  std::vector<bool> reduced(kept.size());
  for (int64_t axis : axes) {
    kept[axis] = 1;
    reduced[axis] = true;
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!reduced[i]) {
      dropped.push_back(kept[i]);
    }
  }
  if (x.size() > HostTensor::kMaxElements) {
    throw TooLarge();
  }
  HostTensor result(x.type(), kept);
  std::vector<double> sums(result.size());
  std::vector<bool> begun(result.size());
  std::vector<int64_t> integers(result.size());
  forEach(x.shape(), broadcastStrides(kept, x.shape()),
          [&](int64_t i, int64_t to) {
            double value = x.floatAt(i);
            int64_t integer = x.intAt(i);
            if (!begun[to]) {
              begun[to] = true;
              sums[to] = value;
              integers[to] = integer;
            } else if (kind == Fold::max) {
              sums[to] = maximum(sums[to], value);
              integers[to] = std::max(integers[to], integer);
            } else if (kind == Fold::min) {
              sums[to] = minimum(sums[to], value);
              integers[to] = std::min(integers[to], integer);
            } else if (kind == Fold::prod) {
              sums[to] *= value;
              integers[to] = wrapMul(integers[to], integer);
            } else {
              sums[to] += value;
              integers[to] = wrapAdd(integers[to], integer);
            }
          });
  int64_t count = reducedCount(x.shape(), axes);
  if (count == 0 && (kind == Fold::mean || !(x.isFloat() || kind == Fold::sum ||
                                             kind == Fold::prod))) {
    fail("reduces an empty tensor");
  }
  for (int64_t i = 0; i < result.size(); ++i) {
    if (!begun[i]) { // the least number for max, and so on
      constexpr double top = std::numeric_limits<double>::infinity();
      sums[i] = kind == Fold::prod  ? 1
                : kind == Fold::max ? -top
                : kind == Fold::min ? top
                                    : 0;
      integers[i] = kind == Fold::prod;
    }
    if (x.isFloat()) {
      result.setFloat(i, kind == Fold::mean ? sums[i] / count : sums[i]);
    } else {
      result.setInt(i, kind == Fold::mean ? integers[i] / count : integers[i]);
    }
  }
  bool keep = identity || op.intAttribute("keepdims", 1) != 0;
  op.set(0, keep ? result : result.reshaped(dropped));
}

//===----------------------------------------------------------------------===//
// CumSum
//===----------------------------------------------------------------------===//

int64_t cumsumAxis(Op &op) {
  const HostTensor &axis = op.constant(1, "axis");
  if (axis.size() != 1) {
    fail("axis must be one number");
  }
  return normalizeAxis(axis.intAt(0), op.shape(0).size());
}

void emitCumSum(Op &op) {
  Value x = op.value(0);
  op.set(0, op.emit.builder.create<nn::CumsumOp>(
                op.emit.location, x.getType(), x, cumsumAxis(op),
                op.intAttribute("exclusive", 0) != 0,
                op.intAttribute("reverse", 0) != 0));
}

void foldCumSum(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  int64_t axis = cumsumAxis(op), size = x.shape()[axis];
  bool exclusive = op.intAttribute("exclusive", 0) != 0;
  bool reverse = op.intAttribute("reverse", 0) != 0;
  int64_t stride = rowMajor(x.shape())[axis];
  Shape lines = x.shape();
  lines[axis] = 1;
  HostTensor result(x.type(), x.shape());
  forEach(lines, rowMajor(x.shape()), [&](int64_t, int64_t base) {
    int64_t integer = 0;
    double number = 0;
    for (int64_t k = 0; k < size; ++k) {
      int64_t at = base + (reverse ? size - 1 - k : k) * stride;
      int64_t nextInteger = wrapAdd(integer, x.intAt(at));
      double nextNumber = roundTo(x.isFloat() ? x.type() : TensorProto::DOUBLE,
                                  number + x.floatAt(at));
      if (x.isFloat()) {
        result.setFloat(at, exclusive ? number : nextNumber);
      } else {
        result.setInt(at, exclusive ? integer : nextInteger);
      }
      integer = nextInteger;
      number = nextNumber;
    }
  });
  op.set(0, result);
}

const OpDef kOps[] = {
    {"CumSum", 11, emitCumSum, foldCumSum, gradientTo<0>},
    {"ReduceL1", 1, emitReduce<l1>, nullptr, gradientTo<0>},
    {"ReduceL2", 1, emitReduce<l2>, nullptr, gradientTo<0>},
    {"ReduceLogSum", 1, emitReduce<logSum>, nullptr, gradientTo<0>},
    {"ReduceLogSumExp", 1, emitReduce<logSumExp>, nullptr, gradientTo<0>},
    {"ReduceMax", 1, emitReduce<plain<ReduceKind::max>>, foldReduce<Fold::max>,
     gradientTo<0>},
    {"ReduceMean", 1, emitReduce<mean>, foldReduce<Fold::mean>, gradientTo<0>},
    {"ReduceMin", 1, emitReduce<plain<ReduceKind::min>>, foldReduce<Fold::min>,
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
