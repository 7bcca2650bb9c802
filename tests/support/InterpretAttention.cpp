//===- InterpretAttention.cpp - attention by plain loops ------------------===//

#include "passes/ir/nn/Attention.h"
#include "tests/support/Frame.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

/// The places of numbers in the operands of an attention.
struct Places {
  AttentionShape shape;

  /// In queries or the result, whose heads have so many elements.
  size_t query(int64_t b, int64_t h, int64_t i, int64_t size) const {
    return size_t(((b * shape.queries + i) * shape.heads + h) * size);
  }
  size_t key(int64_t b, int64_t h, int64_t j, int64_t size) const {
    int64_t row = (b * shape.keys + j) * shape.keyHeads + h / shape.group();
    return size_t(row * size);
  }
  size_t row(int64_t b, int64_t h, int64_t i) const {
    return size_t((b * shape.heads + h) * shape.queries + i);
  }
  size_t score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return size_t(((b * shape.heads + h) * shape.keys + j) * shape.queries + i);
  }
  /// visit(batch, head, query).
  template <typename Visit>
  void forQueries(Visit visit) const {
    for (int64_t b = 0; b < shape.batch; ++b) {
      for (int64_t h = 0; h < shape.heads; ++h) {
        for (int64_t i = 0; i < shape.queries; ++i) {
          visit(b, h, i);
        }
      }
    }
  }
};

double dot(const Tensor &x, size_t at, const Tensor &y, size_t other,
           int64_t size) {
  double sum = 0;
  for (int64_t d = 0; d < size; ++d) {
    sum += x.values[at + d] * y.values[other + d];
  }
  return sum;
}

void addTimes(Tensor &to, size_t at, double factor, const Tensor &from,
              size_t other, int64_t size) {
  for (int64_t d = 0; d < size; ++d) {
    to.values[at + d] += factor * from.values[other + d];
  }
}

/// Products of queries and keys, as regions have them.
Tensor scoresOf(const Places &at, Type element, const Tensor &q,
                const Tensor &k, int64_t size) {
  Tensor scores = filled(RankedTensorType::get(at.shape.scores(), element), 0);
  at.forQueries([&](int64_t b, int64_t h, int64_t i) {
    for (int64_t j = 0; j < at.shape.keys; ++j) {
      scores.values[at.score(b, h, i, j)] =
          dot(q, at.query(b, h, i, size), k, at.key(b, h, j, size), size);
    }
  });
  return scores;
}

} // namespace

void Frame::run(AttentionOp op) {
  const Tensor q = get(op.getQ()), k = get(op.getK()), v = get(op.getV());
  Places at{AttentionShape::of(q.type(), k.type(), v.type())};
  Tensor out = empty(op.getOut()), maxima = empty(op.getMax()),
         inverses = empty(op.getInverse());
  std::vector<Tensor> arguments = {
      scoresOf(at, maxima.element, q, k, at.shape.size)};
  for (Value extra : op.getExtras()) {
    arguments.push_back(get(extra));
  }
  const std::vector<Tensor> yields =
      Frame().run(op.getScores().front(), arguments);
  const Tensor &x = yields.front();
  auto factor = [&](size_t place) {
    return yields.size() > 1 ? yields[1].values[place] : 1;
  };
  int64_t size = at.shape.valueSize;
  at.forQueries([&](int64_t b, int64_t h, int64_t i) {
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t j = 0; j < at.shape.keys; ++j) {
      max = std::max(max, x.values[at.score(b, h, i, j)]);
    }
    if (max == -std::numeric_limits<double>::infinity() && op.getZeroMasked()) {
      return;
    }
    for (int64_t j = 0; j < at.shape.keys; ++j) {
      double e = std::exp(x.values[at.score(b, h, i, j)] - max);
      sum += e;
      addTimes(out, at.query(b, h, i, size), e * factor(at.score(b, h, i, j)),
               v, at.key(b, h, j, size), size);
    }
    maxima.values[at.row(b, h, i)] = max;
    inverses.values[at.row(b, h, i)] = 1 / sum;
    for (int64_t d = 0; d < size; ++d) {
      out.values[at.query(b, h, i, size) + d] /= sum;
    }
  });
  values[op.getOut()] = out;
  values[op.getMax()] = maxima;
  values[op.getInverse()] = inverses;
}

void Frame::run(AttentionGradOp op) {
  const Tensor q = get(op.getQ()), k = get(op.getK()), v = get(op.getV()),
               max = get(op.getMax()), inverse = get(op.getInverse()),
               dout = get(op.getDout()), delta = get(op.getDelta());
  Places at{AttentionShape::of(q.type(), k.type(), v.type())};
  int64_t size = at.shape.size, valueSize = at.shape.valueSize;
  Tensor dq = empty(op.getDq()), dk = empty(op.getDk()), dv = empty(op.getDv());
  Tensor dp = scoresOf(at, max.element, dout, v, valueSize);
  std::vector<Tensor> arguments = {scoresOf(at, max.element, q, k, size), dp};
  for (Value extra : op.getExtras()) {
    arguments.push_back(get(extra));
  }
  Block &region = op.getScores().front();
  const std::vector<Tensor> yields = Frame().run(region, arguments);
  Tensor p = yields.front();
  unsigned weighs = scoreYieldsOf(op);
  auto factor = [&](size_t place) {
    return yields.size() > weighs ? yields[weighs].values[place] : 1;
  };
  at.forQueries([&](int64_t b, int64_t h, int64_t i) {
    for (int64_t j = 0; j < at.shape.keys; ++j) {
      size_t place = at.score(b, h, i, j), row = at.row(b, h, i);
      p.values[place] =
          std::exp(p.values[place] - max.values[row]) * inverse.values[row];
      dp.values[place] = p.values[place] *
                         (dp.values[place] * factor(place) - delta.values[row]);
      p.values[place] *= factor(place);
    }
  });
  arguments[1] = dp;
  const std::vector<Tensor> gradients = Frame().run(region, arguments);
  const Tensor &ds = gradients[1];
  at.forQueries([&](int64_t b, int64_t h, int64_t i) {
    for (int64_t j = 0; j < at.shape.keys; ++j) {
      size_t place = at.score(b, h, i, j);
      size_t query = at.query(b, h, i, size), key = at.key(b, h, j, size);
      addTimes(dq, query, ds.values[place], k, key, size);
      addTimes(dk, key, ds.values[place], q, query, size);
      addTimes(dv, at.key(b, h, j, valueSize), p.values[place], dout,
               at.query(b, h, i, valueSize), valueSize);
    }
  });
  values[op.getDq()] = dq;
  values[op.getDk()] = dk;
  values[op.getDv()] = dv;
  if (op.getDbias()) {
    Tensor dbias = empty(op.getDbias());
    for (size_t i = 0; i < gradients[2].values.size(); ++i) {
      dbias.values[i % dbias.values.size()] += gradients[2].values[i];
    }
    values[op.getDbias()] = dbias;
  }
}
