//===- InterpretGradients.cpp - gradient ops of composites ----------------===//

#include "tests/support/Frame.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

/// Calls `visit(row number, first element, end)` for rows of `tensor`.
template <typename Visit>
static void forEachRow(const Tensor &tensor, Visit visit) {
  size_t size = tensor.shape.back();
  for (size_t row = 0; row * size < tensor.values.size(); ++row) {
    visit(row, row * size, (row + 1) * size);
  }
}

void Frame::run(SoftmaxGradOp op) {
  const Tensor y = get(op.getY()), dy = get(op.getDy());
  Tensor dx = empty(op);
  forEachRow(dx, [&](size_t, size_t begin, size_t end) {
    double along = 0;
    for (size_t i = begin; i < end; ++i) {
      along += dy.values[i] * y.values[i];
    }
    for (size_t i = begin; i < end; ++i) {
      dx.values[i] = (dy.values[i] - along) * y.values[i];
    }
  });
  values[op] = dx;
}

void Frame::run(LayerNormGradOp op) {
  const Tensor x = get(op.getOperand()), scale = get(op.getScale()),
               mean = get(op.getMean()), rstd = get(op.getRstd()),
               dy = get(op.getDy());
  Tensor dx = empty(op.getDx()), dscale = empty(op.getDscale()),
         dbias = empty(op.getDbias());
  forEachRow(dx, [&](size_t row, size_t begin, size_t end) {
    double size = double(end - begin), sum = 0, slope = 0;
    auto normal = [&](size_t i) {
      return (x.values[i] - mean.values[row]) * rstd.values[row];
    };
    for (size_t i = begin; i < end; ++i) {
      double dn = dy.values[i] * scale.values[i - begin];
      sum += dn;
      slope += dn * normal(i);
      dscale.values[i - begin] += dy.values[i] * normal(i);
      dbias.values[i - begin] += dy.values[i];
    }
    for (size_t i = begin; i < end; ++i) {
      double dn = dy.values[i] * scale.values[i - begin];
      dx.values[i] =
          rstd.values[row] * (dn - sum / size - normal(i) * slope / size);
    }
  });
  values[op.getDx()] = dx;
  values[op.getDscale()] = dscale;
  values[op.getDbias()] = dbias;
}

void Frame::run(SoftmaxCrossEntropyGradOp op) {
  const Tensor x = get(op.getLogits()), labels = get(op.getLabels()),
               max = get(op.getMax()), logSum = get(op.getLogSum()),
               dloss = get(op.getDloss());
  Tensor dlogSum =
      op.getDlogSum() ? get(op.getDlogSum()) : empty(op.getDloss());
  Tensor dx = empty(op);
  forEachRow(dx, [&](size_t row, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      double softmax =
          std::exp(x.values[i] - max.values[row] - logSum.values[row]);
      dx.values[i] = softmax * (dloss.values[row] + dlogSum.values[row]);
      if (double(i - begin) == labels.values[row]) {
        dx.values[i] -= dloss.values[row];
      }
    }
  });
  values[op] = dx;
}
