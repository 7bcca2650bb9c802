//===- Oracle.cpp - what PyTorch gives, and how close to it ---------------===//

#include "tests/e2e/Oracle.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace zerograph::testing {
namespace {

/// The reference's name of a parameter: tied ones may stand under another.
const std::string &referenceName(const std::string &name) {
  static const std::map<std::string, std::string> tied = {
      {"lm_head.weight", "transformer.wte.weight"}};
  auto it = tied.find(name);
  return it == tied.end() ? name : it->second;
}

/// The `count` elements with the smallest gradients: zero except for rounding.
std::vector<bool> vanishing(const std::vector<float> &gradient, int64_t count) {
  std::vector<size_t> order(gradient.size());
  std::iota(order.begin(), order.end(), 0);
  std::nth_element(order.begin(), order.begin() + count, order.end(),
                   [&](size_t a, size_t b) {
                     return std::abs(gradient[a]) < std::abs(gradient[b]);
                   });
  std::vector<bool> result(gradient.size());
  for (int64_t i = 0; i < count; ++i) {
    result[order[i]] = true;
  }
  return result;
}

} // namespace

void expectLosses(const Training &training, const Outcome &outcome) {
  Reference reference = loadReference(training.model);
  const ReferenceRun &run = reference.runs.at(training.run);
  double tolerance = run.optimizer == "sgd" ? 2e-6 : 5e-5;
  size_t steps = training.steps ? training.steps : run.losses.size();
  ASSERT_EQ(outcome.result.losses.size(), steps);
  for (size_t step = 0; step < steps; ++step) {
    double expected = run.losses[step], got = outcome.result.losses[step];
    EXPECT_LE(std::abs(got - expected), tolerance * std::abs(expected))
        << training.describe() << " step " << step << ": " << got << ", not "
        << expected;
  }
}

void expectNorms(const Training &training, const Outcome &outcome) {
  Reference reference = loadReference(training.model);
  const std::vector<double> &expected = reference.runs.at(training.run).norms;
  ASSERT_EQ(outcome.norms.size(), expected.size()) << training.describe();
  for (size_t step = 0; step < expected.size(); ++step) {
    // As far from float64 as its parameters are.
    double tolerance = step == 0 ? 1e-6 : 1e-3;
    EXPECT_NEAR(outcome.norms[step], expected[step], tolerance * expected[step])
        << training.describe() << " step " << step;
  }
}

void expectGradients(const Training &training, const Outcome &outcome) {
  Arrays expected = loadArrays(absl::StrCat(
      ZEROGRAPH_MODELS, "/", training.model, "/grads0.safetensors"));
  ASSERT_EQ(outcome.gradients.size(), expected.size());
  for (const auto &[name, got] : outcome.gradients) {
    const std::vector<float> &want = expected.at(referenceName(name));
    ASSERT_EQ(got.size(), want.size()) << name;
    double difference = 0, norm = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      double d = double(got[i]) - want[i];
      difference += d * d;
      norm += double(want[i]) * want[i];
    }
    EXPECT_LE(std::sqrt(difference), 1e-5 * std::sqrt(norm))
        << training.describe() << ": gradient of " << name;
  }
}

/// How far each parameter went: a wrong rate, decay or beta of one group shows
/// there. Of a gradient that is zero but for rounding, as those of GPT-2's
/// keys' biases are, Lion takes the sign and makes a whole step.
void expectMoved(const Training &training, const Outcome &outcome) {
  const ReferenceRun run = loadReference(training.model).runs.at(training.run);
  double tolerance =
      run.optimizer == "lion" && training.model == "gpt2-nano" ? 0.05 : 1e-3;
  Training none = training;
  none.steps = 1;
  none.learning_rate = 0;
  Arrays start = trainModel(none).parameters;
  ASSERT_EQ(outcome.parameters.size(), run.moved.size());
  for (const auto &[name, got] : outcome.parameters) {
    const std::vector<float> &from = start.at(name);
    double squares = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      double moved = double(got[i]) - from[i];
      squares += moved * moved;
    }
    double expected = run.moved.at(referenceName(name));
    EXPECT_NEAR(std::sqrt(squares), expected, tolerance * expected)
        << training.describe() << ": " << name;
  }
}

void expectFinalParameters(const Training &training, const Outcome &outcome) {
  Reference reference = loadReference(training.model);
  std::string folder = absl::StrCat(ZEROGRAPH_MODELS, "/", training.model, "/");
  Arrays expected = loadArrays(folder + "final_adamw.safetensors");
  Arrays gradients = loadArrays(folder + "grads0.safetensors");
  ASSERT_EQ(outcome.parameters.size(), expected.size());
  for (const auto &[name, got] : outcome.parameters) {
    const std::string &known = referenceName(name);
    const std::vector<float> &want = expected.at(known);
    ASSERT_EQ(got.size(), want.size()) << name;
    double tolerance = 10 * std::max(reference.adamw_distance.at(known), 2e-7);
    auto it = reference.vanishing.find(known);
    std::vector<bool> skip = vanishing(
        gradients.at(known), it == reference.vanishing.end() ? 0 : it->second);
    for (size_t i = 0; i < want.size(); ++i) {
      if (!skip[i]) {
        ASSERT_LE(std::abs(double(got[i]) - want[i]), tolerance)
            << training.describe() << ": " << name << "[" << i << "] is "
            << got[i] << ", not " << want[i];
      }
    }
  }
}

void checkTraining(Training training) {
  training.gradients = training.run == "adamw";
  Outcome outcome = trainModel(training);
  if (outcome.result.losses.empty()) {
    return; // reported
  }
  expectLosses(training, outcome);
  expectNorms(training, outcome);
  if (training.run == "adamw") {
    expectGradients(training, outcome);
    if (training.model != "resnet-mini") { // see its test
      expectFinalParameters(training, outcome);
    }
  }
}

} // namespace zerograph::testing
