//===- OracleTest.cpp - training gives what PyTorch gives -----------------===//
//
// Losses of every step, gradients of the first and final parameters against
// PyTorch's float64 runs, over ranks and stages. The whole matrix with
// ZEROGRAPH_FULL set; without it every model, run, number of ranks and stage
// at least once.
//
//===----------------------------------------------------------------------===//

#include "tests/e2e/Harness.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace zerograph::testing {
namespace {

bool full() {
  const char *value = std::getenv("ZEROGRAPH_FULL");
  return value && *value;
}

/// The reference's name of a parameter: tied ones may stand under another.
const std::string &referenceName(const std::string &name) {
  static const std::map<std::string, std::string> tied = {
      {"lm_head.weight", "transformer.wte.weight"}};
  auto it = tied.find(name);
  return it == tied.end() ? name : it->second;
}

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

/// The `count` elements with the smallest gradients: zero but for rounding.
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

/// Of one rank, in ONNX's convention. In float32 the last steps are another
/// trajectory (see the test of resnet-mini), and ModelTrainingTest holds those
/// of float64 to 1e-6; one update left out would be 0.01.
void expectStatistics(const Training &training, const Outcome &outcome) {
  Arrays expected = loadArrays(absl::StrCat(
      ZEROGRAPH_MODELS, "/", training.model, "/buffers_adamw.safetensors"));
  int compared = 0;
  for (const auto &[name, got] : outcome.parameters) {
    auto want = expected.find(name + ".onnx");
    if (want == expected.end()) {
      want = expected.find(name);
    }
    for (size_t i = 0; want != expected.end() && i < got.size(); ++i) {
      EXPECT_NEAR(got[i], want->second[i], 1e-3)
          << training.describe() << ": " << name << " " << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

void check(Training training) {
  training.gradients = training.run == "adamw";
  Outcome outcome = trainModel(training);
  if (outcome.result.losses.empty()) {
    return; // reported
  }
  expectLosses(training, outcome);
  if (training.run == "adamw") {
    expectGradients(training, outcome);
    if (training.model != "resnet-mini") { // see its test
      expectFinalParameters(training, outcome);
    }
  }
}

struct Form {
  const char *model;
  const char *file;
};

/// Every form x run x ranks x stage; without --full a Latin square of them.
void checkForms(const std::vector<Form> &forms) {
  std::vector<std::string> runs = {"sgd", "sgd_momentum", "adamw"};
  int64_t ranks[] = {1, 2, 4};
  for (size_t form = 0; form < forms.size(); ++form) {
    for (size_t r = 0; r < 3; ++r) {
      for (int64_t stage = 0; stage < 4; ++stage) {
        for (size_t run = 0; run < runs.size(); ++run) {
          if (full() || run == (form + r + stage) % 3) {
            Training training{forms[form].model, forms[form].file, runs[run],
                              ranks[r], stage};
            check(training);
          }
        }
      }
    }
  }
}

TEST(Oracle, MlpDigits) {
  checkForms(
      {{"mlp-digits", "model.onnx"}, {"mlp-digits", "model_keep_names.onnx"}});
}

TEST(Oracle, Gpt2Nano) {
  checkForms({{"gpt2-nano", "model.onnx"},
              {"gpt2-nano", "model_sdpa.onnx"},
              {"gpt2-nano", "model_keep_names.onnx"},
              {"gpt2-nano", "model_ts.onnx"}});
}

// BatchNorm sees a rank's micro-batch, so that two ranks are PyTorch's run over
// the halves of a batch, whichever way they are taken.
//
// The trajectory is not stable: at step 13 of `sgd_momentum` two candidates of
// MaxPool are 3.4e-8 apart in float64, and a float32 run that takes the other
// one is 2e-5 off from step 16 on, as PyTorch's own is with one thread
// (measured: 1.96e-5, ours 1.99e-5; until then both are 1.0e-6 from the
// reference's parameters). So 16 steps are compared. In `adamw` an argument of
// the last ReLU comes within 4e-7 of zero at step 13: the losses are compared
// and not the final parameters.
TEST(Oracle, ResnetMini) {
  for (const char *file : {"model.onnx", "model_ts.onnx"}) {
    for (int64_t stage = 0; stage < 4; ++stage) {
      for (const char *run : {"sgd", "sgd_momentum", "adamw"}) {
        if (full() || stage % 2 == (run[0] == 'a')) {
          Training training{"resnet-mini", file, run, 1, stage};
          training.steps = run == std::string("sgd_momentum") ? 16 : 0;
          check(training);
        }
      }
      // The other file's have seen the forward pass that exported it.
      if (file == std::string("model.onnx")) {
        Training whole{"resnet-mini", file, "adamw", 1, stage};
        expectStatistics(whole, trainModel(whole));
      }
      Training halves{"resnet-mini", file, "adamw_accum", 2, stage};
      expectLosses(halves, trainModel(halves));
      halves.ranks = 1;
      halves.accumulate = 2;
      expectLosses(halves, trainModel(halves));
    }
  }
}

// Products and convolutions by generated kernels.
TEST(Oracle, GeneratedProducts) {
  for (Training training :
       {Training{"mlp-digits", "model.onnx", "adamw", 2, 1},
        Training{"gpt2-nano", "model_keep_names.onnx", "sgd", 2, 3},
        Training{"resnet-mini", "model_ts.onnx", "sgd", 1, 0}}) {
    training.matmul = "generated";
    training.threads = 2;
    check(training);
  }
}

// Halves of the global batch, one after the other, on one rank or two: AdamW
// barely sees a wrong scale of gradients, SGD does.
TEST(Oracle, Accumulation) {
  for (int64_t ranks : {1, 2}) {
    for (int64_t stage = 0; stage < 4; ++stage) {
      for (const char *run : {"adamw_accum", "sgd"}) {
        Training training{"gpt2-nano", "model_keep_names.onnx", run, ranks,
                          stage};
        training.accumulate = 2;
        if (full() || (ranks + stage) % 2 == 0) {
          Outcome outcome = trainModel(training);
          expectLosses(training, outcome);
        }
      }
    }
  }
}

} // namespace
} // namespace zerograph::testing
