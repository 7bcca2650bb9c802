//===- OptimizerTest.cpp - updates against the textbook algorithms --------===//
//
// The references follow the pseudocode in the documentation of torch.optim,
// with its bias-corrected moments, one element at a time; the updates compute
// the same by other operations.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/Optimizer.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

constexpr int kSteps = 5;
constexpr int64_t kSize = 3;
constexpr double kGradientParts = 4; // ranks * micro-batches

/// The update as a function (p, g, states..., scalars...) -> (p, states...).
class UpdateProgram {
public:
  explicit UpdateProgram(const OptimizerOptions &options)
      : options(options), program(emptyFunction(options)) {
    func::FuncOp func = program.function("update");
    Block &body = func.getBody().front();
    size_t states = optimizerStates(options).size();
    std::map<std::string, Value> scalars;
    for (auto [i, name] : llvm::enumerate(optimizerScalars(options))) {
      scalars[name.str()] = body.getArgument(2 + states + i);
    }
    OpBuilder builder(body.getTerminator());
    Update update =
        buildUpdate(builder, func.getLoc(), options, body.getArgument(0),
                    body.getArgument(1), body.getArguments().slice(2, states),
                    [&](StringRef name) {
                      // One that is not listed, or asked for twice, is missing
                      // here.
                      auto found = scalars.extract(name.str());
                      EXPECT_FALSE(found.empty()) << name.str();
                      return found.empty() ? Value() : found.mapped();
                    });
    EXPECT_TRUE(scalars.empty()) << scalars.begin()->first << " is not read";
    SmallVector<Value> results = {update.parameter};
    llvm::append_range(results, update.states);
    body.getTerminator()->setOperands(results);
    func.setFunctionType(builder.getFunctionType(
        func.getArgumentTypes(), ValueRange(results).getTypes()));
    EXPECT_TRUE(succeeded(verify(program.getModule())));
  }

  /// Parameters and states after one step; `gradient` is the mean of all parts.
  std::vector<Tensor> step(std::vector<Tensor> persistent, Tensor gradient,
                           int number) {
    func::FuncOp func = program.function("update");
    for (double &value : gradient.values) {
      value *= kGradientParts;
    }
    persistent.insert(persistent.begin() + 1, gradient);
    for (StringRef name : optimizerScalars(options)) {
      persistent.push_back(filled(func.getArgumentTypes()[persistent.size()],
                                  scalarAt(name, number)));
    }
    return evaluate(func, persistent);
  }

  /// Parameters and states after `kSteps` steps of random gradients.
  std::vector<Tensor> train() {
    std::vector<Tensor> persistent = {randomTensor(type(), 1, -1, 1)};
    for (size_t i = 0; i < optimizerStates(options).size(); ++i) {
      persistent.push_back(filled(type(), 0));
    }
    for (int number = 1; number <= kSteps; ++number) {
      persistent = step(persistent, gradient(type(), number), number);
    }
    return persistent;
  }

  static Tensor gradient(Type type, int step) {
    return randomTensor(type, 100 + step, -1, 1);
  }
  Type type() { return program.function("update").getArgumentTypes()[0]; }

private:
  static std::string emptyFunction(const OptimizerOptions &options) {
    std::string text = "func.func @update(%p: tensor<3xf64>, %g: tensor<3xf64>";
    for (StringRef name : optimizerStates(options)) {
      text += ", %" + name.str() + ": tensor<3xf64>";
    }
    for (StringRef name : optimizerScalars(options)) {
      text += ", %" + name.str() + ": tensor<1xf32>";
    }
    return text + ") {\n  return\n}";
  }

  /// The scalars as Optimizer.h defines them.
  double scalarAt(StringRef name, int step) const {
    const OptimizerOptions &o = options;
    std::map<StringRef, double> scalars = {
        {kGradientScale, 1 / kGradientParts},
        {kLearningRate, o.lr},
        {kStepSize, o.lr / (1 - std::pow(o.beta1, step))},
        {kBiasCorrection2Sqrt, std::sqrt(1 - std::pow(o.beta2, step))},
        {kDecay, 1 - o.lr * o.weight_decay},
    };
    // The interpreter rounds nothing but conversions to narrower types, so
    // the scalars keep their precision.
    return scalars.at(name);
  }

  OptimizerOptions options;
  Program program;
};

/// One element's parameter and states.
struct Element {
  double p;
  double first = 0;
  double second = 0;
};

void stepSgd(Element &e, double g, int step, const OptimizerOptions &o) {
  g += o.weight_decay * e.p;
  if (o.momentum != 0) {
    e.first = step == 1 ? g : o.momentum * e.first + g;
    g = o.nesterov ? g + o.momentum * e.first : e.first;
  }
  e.p -= o.lr * g;
}

void stepAdam(Element &e, double g, int step, const OptimizerOptions &o) {
  if (o.kind == OptimizerOptions::adam) {
    g += o.weight_decay * e.p;
  } else {
    e.p -= o.lr * o.weight_decay * e.p;
  }
  e.first = o.beta1 * e.first + (1 - o.beta1) * g;
  e.second = o.beta2 * e.second + (1 - o.beta2) * g * g;
  double mean = e.first / (1 - std::pow(o.beta1, step));
  double variance = e.second / (1 - std::pow(o.beta2, step));
  e.p -= o.lr * mean / (std::sqrt(variance) + o.eps);
}

struct OptimizerCase {
  const char *name;
  OptimizerOptions options;
};

void PrintTo(const OptimizerCase &optimizerCase, std::ostream *stream) {
  *stream << optimizerCase.name;
}

OptimizerOptions sgd(double momentum, bool nesterov, double decay) {
  OptimizerOptions options;
  options.lr = 0.1;
  options.momentum = momentum;
  options.nesterov = nesterov;
  options.weight_decay = decay;
  return options;
}

OptimizerOptions adam(OptimizerOptions::Kind kind, double decay) {
  OptimizerOptions options;
  options.kind = kind;
  options.lr = 0.01;
  options.beta1 = 0.8;
  options.beta2 = 0.95;
  options.eps = 1e-3;
  options.weight_decay = decay;
  return options;
}

const OptimizerCase kCases[] = {
    {"sgd", sgd(0, false, 0)},
    {"sgd_decay", sgd(0, false, 0.1)},
    {"sgd_momentum", sgd(0.9, false, 0.1)},
    {"sgd_nesterov", sgd(0.9, true, 0.1)},
    {"adam", adam(OptimizerOptions::adam, 0)},
    {"adam_decay", adam(OptimizerOptions::adam, 0.1)},
    {"adamw", adam(OptimizerOptions::adamw, 0)},
    {"adamw_decay", adam(OptimizerOptions::adamw, 0.1)},
};

class Optimizer : public ::testing::TestWithParam<OptimizerCase> {};

TEST_P(Optimizer, FollowsTheTextbook) {
  const OptimizerOptions &options = GetParam().options;
  UpdateProgram program(options);
  std::vector<Tensor> actual = program.train();
  Tensor start = randomTensor(program.type(), 1, -1, 1);
  for (int64_t i = 0; i < kSize; ++i) {
    Element element = {start.values[i]};
    for (int step = 1; step <= kSteps; ++step) {
      double g = UpdateProgram::gradient(program.type(), step).values[i];
      (options.kind == OptimizerOptions::sgd ? stepSgd : stepAdam)(
          element, g, step, options);
    }
    double expected[] = {element.p, element.first, element.second};
    for (auto [n, tensor] : llvm::enumerate(actual)) {
      EXPECT_NEAR(tensor.values[i], expected[n], 1e-12) << "value " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Optimizer, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

/// Two steps of SGD worked out by hand: lr 0.1, momentum 0.5, p = 1, g = 2, 4.
/// buf = 2, p = 0.8; buf = 5, p = 0.3. With nesterov the steps are 3 and 6.5.
TEST(OptimizerByHand, MomentumAndNesterov) {
  for (bool nesterov : {false, true}) {
    UpdateProgram program(sgd(0.5, nesterov, 0));
    std::vector<Tensor> state = {filled(program.type(), 1),
                                 filled(program.type(), 0)};
    state = program.step(state, filled(program.type(), 2), 1);
    EXPECT_NEAR(state[0].values[0], nesterov ? 0.7 : 0.8, 1e-15);
    EXPECT_NEAR(state[1].values[0], 2, 1e-15);
    state = program.step(state, filled(program.type(), 4), 2);
    EXPECT_NEAR(state[0].values[0], nesterov ? 0.05 : 0.3, 1e-15);
    EXPECT_NEAR(state[1].values[0], 5, 1e-15);
  }
}

/// Without eps the first step of Adam is the learning rate against the sign.
TEST(OptimizerByHand, AdamStartsWithTheSign) {
  OptimizerOptions options = adam(OptimizerOptions::adam, 0);
  options.eps = 0;
  UpdateProgram program(options);
  Tensor one = filled(program.type(), 1), zero = filled(program.type(), 0);
  Tensor g = zero;
  g.values = {3, -0.5, 100};
  Tensor p = program.step({one, zero, zero}, g, 1)[0];
  EXPECT_NEAR(p.values[0], 0.99, 1e-15);
  EXPECT_NEAR(p.values[1], 1.01, 1e-15);
  EXPECT_NEAR(p.values[2], 0.99, 1e-15);
}

TEST(OptimizerOptionsCheck, SaysEveryProblem) {
  EXPECT_EQ(checkOptimizer({}), "");
  OptimizerOptions options = sgd(0, true, -1);
  EXPECT_EQ(checkOptimizer(options),
            "weight decay is -1.00, but must be 0 or more; nesterov needs a "
            "momentum above 0");
  options = adam(OptimizerOptions::adam, 0);
  options.beta2 = 1;
  EXPECT_EQ(checkOptimizer(options),
            "beta2 is 1.00, but must be at least 0 and below 1");
}

} // namespace
