//===- Interpreter.cpp - values, blocks and composites --------------------===//

#include "tests/support/Interpreter.h"

#include "passes/ir/nn/Convolution.h"
#include "runtime/state/Philox.h"
#include "tests/support/Scalar.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

/// What `nn.scalar` gives.
constexpr double kSeed = 0x1234567890ABC, kStep = 7, kSampleBase = 12;

using Index = SmallVector<int64_t>;

class Frame {
public:
  std::vector<Tensor> run(Block &block, ArrayRef<Tensor> arguments) {
    if (arguments.size() != block.getNumArguments()) {
      llvm::report_fatal_error("interpreter: wrong number of arguments");
    }
    for (auto [argument, tensor] : llvm::zip(block.getArguments(), arguments)) {
      if (tensor.type() != argument.getType() ||
          static_cast<int64_t>(tensor.values.size()) !=
              tensor.type().getNumElements()) {
        llvm::report_fatal_error("interpreter: an argument does not fit");
      }
      values[argument] = tensor;
    }
    for (Operation &op : block.without_terminator()) {
      execute(&op);
    }
    std::vector<Tensor> results;
    for (Value operand : block.getTerminator()->getOperands()) {
      results.push_back(values[operand]);
    }
    return results;
  }

private:
  const Tensor &get(Value value) { return values.find(value)->second; }

  static Tensor empty(Value value) { return filled(value.getType(), 0); }

  /// Fills a result from a function of its index.
  template <typename Function>
  void fill(Value value, Function function) {
    Tensor tensor = empty(value);
    size_t position = 0;
    forEachIndex(tensor.shape, [&](ArrayRef<int64_t> index) {
      tensor.values[position++] = function(index);
    });
    values[value] = std::move(tensor);
  }

  /// Fills a result by reading `from` at a function of the result's index.
  template <typename Function>
  void view(Value value, Value from, Function indexOf) {
    const Tensor source = get(from);
    fill(value, [&](ArrayRef<int64_t> index) {
      return source.values[linear(source.shape, indexOf(index))];
    });
  }

  void execute(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<ConstantOp, IotaOp, UnaryOp, BinaryOp, CompareOp, SelectOp,
              ConvertOp, ScalarOp, RandomUniformOp, RandomLikeOp, DropoutOp,
              BroadcastOp, ReshapeOp, TransposeOp, SliceOp, PadOp, ConcatOp,
              ReduceOp, CumsumOp, MatmulOp, ConvolutionOp, GatherOp, ScatterOp,
              SoftmaxOp, LayerNormOp, SoftmaxCrossEntropyOp, KernelOp>(
            [&](auto concrete) { run(concrete); })
        .Default([](Operation *other) {
          llvm::report_fatal_error(llvm::Twine("interpreter: no case for ") +
                                   other->getName().getStringRef());
        });
  }

  void run(ConstantOp op) { values[op] = fromAttribute(op.getValue()); }

  void run(IotaOp op) {
    Type element = op.getType().getElementType();
    fill(op, [&](ArrayRef<int64_t> index) {
      return roundTo(element, index[op.getDim()]);
    });
  }

  void run(UnaryOp op) {
    const Tensor x = get(op.getOperand());
    Tensor y = empty(op);
    for (size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = applyUnary(op.getKind(), x.element, x.values[i]);
    }
    values[op] = y;
  }

  void run(BinaryOp op) {
    const Tensor a = get(op.getLhs()), b = get(op.getRhs());
    Tensor y = empty(op);
    for (size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] =
          applyBinary(op.getKind(), y.element, a.values[i], b.values[i]);
    }
    values[op] = y;
  }

  void run(CompareOp op) {
    const Tensor a = get(op.getLhs()), b = get(op.getRhs());
    Tensor y = empty(op);
    for (size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = applyCompare(op.getKind(), a.values[i], b.values[i]);
    }
    values[op] = y;
  }

  void run(SelectOp op) {
    const Tensor c = get(op.getCondition());
    const Tensor a = get(op.getOnTrue()), b = get(op.getOnFalse());
    Tensor y = empty(op);
    for (size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = c.values[i] != 0 ? a.values[i] : b.values[i];
    }
    values[op] = y;
  }

  void run(ConvertOp op) {
    const Tensor x = get(op.getOperand());
    Tensor y = empty(op);
    for (size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = convertScalar(x.element, y.element, x.values[i]);
    }
    values[op] = y;
  }

  void run(ScalarOp op) {
    values[op] = filled(op.getType(), op.getName() == "seed"   ? kSeed
                                      : op.getName() == "step" ? kStep
                                                               : kSampleBase);
  }

  static double uniform(uint64_t seed, uint64_t step, uint64_t index,
                        uint64_t number) {
    auto bits = zerograph::philox({uint32_t(index), uint32_t(index >> 32),
                                   uint32_t(number), uint32_t(step)},
                                  {uint32_t(seed), uint32_t(seed >> 32)});
    return double(bits[0] >> 8) / (1 << 24);
  }

  void run(RandomUniformOp op) {
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
  std::vector<double> numbersOf(RandomOp op, ArrayRef<int64_t> shapeOfAll) {
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

  void run(RandomLikeOp op) {
    Tensor y = empty(op);
    y.values = numbersOf(op, y.shape);
    values[op] = y;
  }

  void run(DropoutOp op) {
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

  void run(BroadcastOp op) {
    ArrayRef<int64_t> from = op.getOperand().getType().getShape();
    view(op, op.getOperand(), [&](ArrayRef<int64_t> index) {
      Index source(index);
      for (auto [i, size] : llvm::zip(source, from)) {
        i = size == 1 ? 0 : i;
      }
      return source;
    });
  }

  void run(ReshapeOp op) {
    Tensor tensor = get(op.getOperand());
    tensor.shape.assign(op.getType().getShape().begin(),
                        op.getType().getShape().end());
    values[op] = tensor;
  }

  void run(TransposeOp op) {
    view(op, op.getOperand(), [&](ArrayRef<int64_t> index) {
      Index source(index.size());
      for (auto [to, from] : llvm::enumerate(op.getPermutation())) {
        source[from] = index[to];
      }
      return source;
    });
  }

  void run(SliceOp op) {
    view(op, op.getOperand(), [&](ArrayRef<int64_t> index) {
      Index source(index);
      for (size_t dim = 0; dim < index.size(); ++dim) {
        source[dim] = op.getStarts()[dim] + index[dim] * op.getSteps()[dim];
      }
      return source;
    });
  }

  void run(PadOp op) {
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

  void run(ConcatOp op) {
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

  void run(ReduceOp op) {
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

  void run(CumsumOp op) {
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
        double next =
            applyBinary(BinaryKind::add, x.element, sum, x.values[at]);
        y.values[at] = op.getExclusive() ? sum : next;
        sum = next;
      }
    });
    values[op] = y;
  }

  void run(ConvolutionOp op) {
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

  void run(MatmulOp op) {
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
    values[op] = c;
  }

  /// The row of a table of `rows` that an index means.
  static int64_t clampedRow(double index, int64_t rows) {
    return std::clamp<int64_t>(static_cast<int64_t>(index), 0, rows - 1);
  }

  void run(GatherOp op) {
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

  void run(ScatterOp op) {
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

  void run(SoftmaxOp op) {
    Tensor y = get(op.getOperand());
    forEachRow(y, [](double *row, int64_t size, size_t) {
      double lse = logSumExp(row, size);
      for (int64_t i = 0; i < size; ++i) {
        row[i] = std::exp(row[i] - lse);
      }
    });
    values[op] = y;
  }

  void run(LayerNormOp op) {
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

  void run(SoftmaxCrossEntropyOp op) {
    Tensor x = get(op.getLogits());
    const Tensor labels = get(op.getLabels());
    Tensor loss = empty(op.getLoss()), lse = empty(op.getLse());
    forEachRow(x, [&](double *row, int64_t size, size_t n) {
      lse.values[n] = logSumExp(row, size);
      double label = labels.values[n];
      bool legal = label >= 0 && label < size;
      loss.values[n] =
          lse.values[n] - (legal ? row[static_cast<int64_t>(label)] : 0);
    });
    values[op.getLoss()] = loss;
    values[op.getLse()] = lse;
  }

  void run(KernelOp op) {
    std::vector<Tensor> arguments;
    for (Value operand : op.getOperands()) {
      arguments.push_back(get(operand));
    }
    std::vector<Tensor> results = evaluate(op, arguments);
    for (auto [value, tensor] : llvm::zip(op.getResults(), results)) {
      values[value] = tensor;
    }
  }

  /// Calls `visit(first element, size, row number)` along the last dimension.
  template <typename Visit>
  static void forEachRow(Tensor &tensor, Visit visit) {
    int64_t size = tensor.shape.back();
    for (size_t row = 0; row * size < tensor.values.size(); ++row) {
      visit(tensor.values.data() + row * size, size, row);
    }
  }

  static double logSumExp(const double *row, int64_t size) {
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      max = applyBinary(BinaryKind::max, {}, max, row[i]);
    }
    for (int64_t i = 0; i < size; ++i) {
      sum += std::exp(row[i] - max);
    }
    return max + std::log(sum);
  }

  llvm::DenseMap<Value, Tensor> values;
};

} // namespace

std::vector<Tensor> mlir::zg::testing::evaluate(func::FuncOp func,
                                                ArrayRef<Tensor> arguments) {
  return Frame().run(func.getBody().front(), arguments);
}

std::vector<Tensor> mlir::zg::testing::evaluate(KernelOp kernel,
                                                ArrayRef<Tensor> arguments) {
  return Frame().run(kernel.getBody().front(), arguments);
}
