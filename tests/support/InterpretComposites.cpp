//===- InterpretComposites.cpp - random numbers, products, norms ----------===//

#include "passes/ir/nn/Convolution.h"
#include "runtime/state/Philox.h"
#include "tests/support/Frame.h"
#include "tests/support/Scalar.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <limits>
#include <tuple>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

using Index = SmallVector<int64_t>;

static double uniform(uint64_t seed, uint64_t step, uint64_t index,
                      uint64_t number) {
  auto bits = zerograph::philox({uint32_t(index), uint32_t(index >> 32),
                                 uint32_t(number), uint32_t(step)},
                                {uint32_t(seed), uint32_t(seed >> 32)});
  return double(bits[0] >> 8) / (1 << 24);
}

void Frame::run(RandomUniformOp op) {
  const Tensor seed = get(op.getSeed()), step = get(op.getStep()),
               index = get(op.getIndex());
  Tensor y = empty(op);
  for (size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] = uniform(int64_t(seed.values[i]), int64_t(step.values[i]),
                          int64_t(index.values[i]), op.getNumber());
  }
  values[op] = y;
}

/// Counts element by element, as the description of dropout says.
template <typename RandomOp>
std::vector<double> Frame::numbersOf(RandomOp op,
                                     ArrayRef<int64_t> shapeOfAll) {
  if (!op.getSamples()) {
    llvm::report_fatal_error("interpreter: random numbers without samples");
  }
  ArrayRef<int64_t> samples = *op.getSamples();
  int64_t count = samples.empty() ? 1 : samples[1];
  int64_t ofOne = ShapedType::getNumElements(shapeOfAll) / count;
  std::vector<double> numbers;
  forEachIndex(shapeOfAll, [&](ArrayRef<int64_t> at) {
    int64_t sample = 0;
    Index shape(shapeOfAll), rest(at);
    if (!samples.empty()) {
      int64_t factor = shape[samples[0]] / count;
      shape[samples[0]] = factor;
      sample = int64_t(kSampleBase) + at[samples[0]] / factor;
      rest[samples[0]] = at[samples[0]] % factor;
    }
    numbers.push_back(uniform(
        kSeed, kStep, sample * ofOne + linear(shape, rest), op.getNumber()));
  });
  return numbers;
}

void Frame::run(RandomLikeOp op) {
  Tensor y = empty(op);
  y.values = numbersOf(op, y.shape);
  values[op] = y;
}

void Frame::run(DropoutOp op) {
  const Tensor x = get(op.getOperand());
  Tensor y = empty(op.getResult()), mask = empty(op.getMask());
  double ratio = op.getRatio().convertToDouble();
  std::vector<double> numbers = numbersOf(op, x.shape);
  for (size_t i = 0; i < numbers.size(); ++i) {
    bool kept = numbers[i] >= double(float(ratio));
    mask.values[i] = kept;
    y.values[i] = kept ? x.values[i] / (1 - ratio) : 0;
  }
  values[op.getResult()] = y;
  values[op.getMask()] = mask;
}

void Frame::run(ConvolutionOp op) {
  const Convolution shape(op);
  Tensor result = empty(op);
  const Tensor lhs = get(op.getLhs()), rhs = get(op.getRhs());
  const Tensor &input = op.getKind() == ConvolutionKind::input ? result : lhs;
  const Tensor &weights =
      op.getKind() == ConvolutionKind::weights ? result : rhs;
  const Tensor &output = op.getKind() == ConvolutionKind::forward ? result
                         : op.getKind() == ConvolutionKind::input ? lhs
                                                                  : rhs;
  int64_t channels = shape.channels() / shape.groups;
  int64_t features = shape.features() / shape.groups;
  // Every product of the three goes to the one that is computed.
  forEachIndex(output.shape, [&](ArrayRef<int64_t> o) {
    forEachIndex(
        ArrayRef<int64_t>(weights.shape).drop_front(),
        [&](ArrayRef<int64_t> w) {
          SmallVector<int64_t> at{o[0], o[1] / features * channels + w[0]};
          for (unsigned i = 0; i < shape.places(); ++i) {
            at.push_back(o[i + 2] * shape.strides[i] - shape.low[i] +
                         w[i + 1] * shape.dilations[i]);
            if (at.back() < 0 || at.back() >= input.shape[i + 2]) {
              return;
            }
          }
          SmallVector<int64_t> weight{o[1]};
          llvm::append_range(weight, w);
          size_t x = linear(input.shape, at);
          size_t k = linear(weights.shape, weight);
          size_t y = linear(output.shape, o);
          switch (op.getKind()) {
          case ConvolutionKind::forward:
            result.values[y] += input.values[x] * weights.values[k];
            break;
          case ConvolutionKind::input:
            result.values[x] += output.values[y] * weights.values[k];
            break;
          case ConvolutionKind::weights:
            result.values[k] += input.values[x] * output.values[y];
            break;
          }
        });
  });
  values[op] = result;
}

void Frame::run(MatmulOp op) {
  const Tensor a = get(op.getLhs()), b = get(op.getRhs());
  Tensor c = empty(op);
  size_t last = c.shape.size() - 1;
  int64_t rows = c.shape[last - 1], columns = c.shape[last];
  int64_t inner = a.shape[op.getTransposeA() ? last - 1 : last];
  // How far apart neighbours along a matrix's rows and columns lie.
  auto strides = [&](const Tensor &tensor, bool transposed) {
    int64_t row = transposed ? 1 : tensor.shape[last];
    return std::pair(row, transposed ? tensor.shape[last] : 1);
  };
  auto [aRow, aColumn] = strides(a, op.getTransposeA());
  auto [bRow, bColumn] = strides(b, op.getTransposeB());
  int64_t batches =
      ShapedType::getNumElements(ArrayRef<int64_t>(c.shape).drop_back(2));
  for (int64_t batch = 0; batch < batches; ++batch) {
    const double *left = a.values.data() + batch * rows * inner;
    const double *right = b.values.data() + batch * inner * columns;
    double *out = c.values.data() + batch * rows * columns;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < inner; ++k) {
        double factor = left[i * aRow + k * aColumn];
        for (int64_t j = 0; j < columns; ++j) {
          out[i * columns + j] += factor * right[k * bRow + j * bColumn];
        }
      }
    }
  }
  if (op.getInto()) {
    const Tensor into = get(op.getInto());
    for (size_t i = 0; i < c.values.size(); ++i) {
      c.values[i] += into.values[i];
    }
  }
  if (op.getBias()) {
    const Tensor bias = get(op.getBias());
    for (size_t i = 0; i < c.values.size(); ++i) {
      c.values[i] += bias.values[i % size_t(columns)];
    }
  }
  values[op] = c;
}

/// Calls `visit(first element, size, row number)` along the last dimension.
template <typename Visit>
static void forEachRow(Tensor &tensor, Visit visit) {
  int64_t size = tensor.shape.back();
  for (size_t row = 0; row * size < tensor.values.size(); ++row) {
    visit(tensor.values.data() + row * size, size, row);
  }
}

/// The maximum of a row, and the logarithm of the sum of exp(x - max).
static std::pair<double, double> logSumExp(const double *row, int64_t size) {
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    max = applyBinary(BinaryKind::max, {}, max, row[i]);
  }
  for (int64_t i = 0; i < size; ++i) {
    sum += std::exp(row[i] - max);
  }
  return {max, std::log(sum)};
}

void Frame::run(SoftmaxOp op) {
  Tensor y = get(op.getOperand());
  forEachRow(y, [](double *row, int64_t size, size_t) {
    auto [max, logSum] = logSumExp(row, size);
    for (int64_t i = 0; i < size; ++i) {
      row[i] = std::exp(row[i] - max - logSum);
    }
  });
  values[op] = y;
}

void Frame::run(LayerNormOp op) {
  Tensor y = get(op.getOperand());
  const Tensor scale = get(op.getScale()), bias = get(op.getBias());
  Tensor means = empty(op.getMean()), rstds = empty(op.getRstd());
  double epsilon = op.getEpsilon().convertToDouble();
  forEachRow(y, [&](double *row, int64_t size, size_t n) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < size; ++i) {
      mean += row[i] / size;
    }
    for (int64_t i = 0; i < size; ++i) {
      variance += (row[i] - mean) * (row[i] - mean) / size;
    }
    double rstd = 1 / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < size; ++i) {
      row[i] = (row[i] - mean) * rstd * scale.values[i] + bias.values[i];
    }
    means.values[n] = mean;
    rstds.values[n] = rstd;
  });
  values[op.getResult()] = y;
  values[op.getMean()] = means;
  values[op.getRstd()] = rstds;
}

void Frame::run(SoftmaxCrossEntropyOp op) {
  Tensor x = get(op.getLogits());
  const Tensor labels = get(op.getLabels());
  Tensor loss = empty(op.getLoss()), max = empty(op.getMax()),
         logSum = empty(op.getLogSum());
  forEachRow(x, [&](double *row, int64_t size, size_t n) {
    std::tie(max.values[n], logSum.values[n]) = logSumExp(row, size);
    double label = labels.values[n];
    bool legal = label >= 0 && label < size;
    double chosen = legal ? row[static_cast<int64_t>(label)] : 0;
    loss.values[n] = logSum.values[n] + (max.values[n] - chosen);
  });
  values[op.getLoss()] = loss;
  values[op.getMax()] = max;
  values[op.getLogSum()] = logSum;
}
