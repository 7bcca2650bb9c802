//===- OptimizerTest.cpp - updates against the textbook algorithms --------===//
//
// The references follow the pseudocode in the documentation of torch.optim,
// with its bias-corrected moments, one element at a time; the updates compute
// the same by other operations.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/differentiate/UpdateProgram.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

constexpr int kSteps = 5;
constexpr int64_t kSize = 3;

Tensor gradientAt(Type type, int step) {
  return randomTensor(type, 100 + step, -1, 1);
}

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
  if (o.kind->name == "adam") {
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

double signOf(double x) { return (x > 0) - (x < 0); }

/// The pseudocode of "Symbolic Discovery of Optimization Algorithms".
void stepLion(Element &e, double g, int, const OptimizerOptions &o) {
  double update = signOf(o.beta1 * e.first + (1 - o.beta1) * g);
  e.first = o.beta2 * e.first + (1 - o.beta2) * g;
  e.p -= o.lr * (update + o.weight_decay * e.p);
}

void stepAdagrad(Element &e, double g, int, const OptimizerOptions &o) {
  g += o.weight_decay * e.p;
  e.first += g * g;
  e.p -= o.lr * g / (std::sqrt(e.first) + o.eps);
}

decltype(&stepSgd) stepOf(std::string_view name) {
  return name == "sgd"       ? stepSgd
         : name == "lion"    ? stepLion
         : name == "adagrad" ? stepAdagrad
                             : stepAdam;
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

OptimizerOptions adam(std::string_view name, double decay) {
  OptimizerOptions options;
  options.kind = zerograph::options::findOptimizer(name);
  options.lr = 0.01;
  options.beta1 = 0.8;
  options.beta2 = 0.95;
  options.eps = 1e-3;
  options.weight_decay = decay;
  return options;
}

OptimizerOptions cycled(OptimizerOptions options) {
  options.cycled_beta1 = true;
  return options;
}

const OptimizerCase kCases[] = {
    {"sgd", sgd(0, false, 0)},
    {"sgd_decay", sgd(0, false, 0.1)},
    {"sgd_momentum", sgd(0.9, false, 0.1)},
    {"sgd_nesterov", sgd(0.9, true, 0.1)},
    {"adam", adam("adam", 0)},
    {"adam_decay", adam("adam", 0.1)},
    {"adamw", adam("adamw", 0)},
    {"adamw_decay", adam("adamw", 0.1)},
    {"adamw_cycled", cycled(adam("adamw", 0.1))},
    {"lion", adam("lion", 0)},
    {"lion_decay", adam("lion", 0.1)},
    {"adagrad", adam("adagrad", 0)},
    {"adagrad_decay", adam("adagrad", 0.1)},
};

class Optimizer : public ::testing::TestWithParam<OptimizerCase> {};

TEST_P(Optimizer, FollowsTheTextbook) {
  const OptimizerOptions &options = GetParam().options;
  UpdateProgram program(options, kSize);
  Tensor start = randomTensor(program.type(), 1, -1, 1);
  std::vector<Tensor> actual = program.start(start);
  for (int step = 1; step <= kSteps; ++step) {
    actual = program.step(actual, gradientAt(program.type(), step), step);
  }
  for (int64_t i = 0; i < kSize; ++i) {
    Element element = {start.values[i]};
    for (int step = 1; step <= kSteps; ++step) {
      double g = gradientAt(program.type(), step).values[i];
      stepOf(options.kind->name)(element, g, step, options);
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
    UpdateProgram program(sgd(0.5, nesterov, 0), kSize);
    std::vector<Tensor> state = program.start(filled(program.type(), 1));
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
  OptimizerOptions options = adam("adam", 0);
  options.eps = 0;
  UpdateProgram program(options, kSize);
  Tensor one = filled(program.type(), 1), g = one;
  g.values = {3, -0.5, 100};
  Tensor p = program.step(program.start(one), g, 1)[0];
  EXPECT_NEAR(p.values[0], 0.99, 1e-15);
  EXPECT_NEAR(p.values[1], 1.01, 1e-15);
  EXPECT_NEAR(p.values[2], 0.99, 1e-15);
}

/// Where the mean and the gradient are 0, Lion does nothing; else it steps by
/// the learning rate, however small they are.
TEST(OptimizerByHand, LionStepsByTheSign) {
  UpdateProgram program(adam("lion", 0), kSize);
  Tensor one = filled(program.type(), 1), g = one;
  g.values = {0, -1e-300, 100};
  Tensor p = program.step(program.start(one), g, 1)[0];
  EXPECT_EQ(p.values[0], 1);
  EXPECT_NEAR(p.values[1], 1.01, 1e-15);
  EXPECT_NEAR(p.values[2], 0.99, 1e-15);
}

TEST(OptimizerOptionsCheck, SaysEveryProblem) {
  EXPECT_EQ(checkOptimizer({}), "");
  OptimizerOptions options = sgd(0, true, -1);
  EXPECT_EQ(checkOptimizer(options),
            "weight_decay is -1, expected a finite number that is not "
            "negative; nesterov needs a momentum above 0");
  options = adam("adam", 0);
  options.beta2 = 1;
  EXPECT_EQ(checkOptimizer(options),
            "beta2 is 1, expected at least 0 and below 1");
  options = cycled(adam("lion", 0));
  options.clip_value = -1;
  EXPECT_EQ(checkOptimizer(options),
            "clip_value is -1, expected a finite number that is not negative; "
            "beta1 is cycled, which only adam and adamw can; this is lion");
}

} // namespace
