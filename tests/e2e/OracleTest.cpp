//===- OracleTest.cpp - training gives what PyTorch gives -----------------===//
//
// Losses of every step, gradients of the first and final parameters against
// PyTorch's float64 runs, over ranks and stages. The whole matrix with
// ZEROGRAPH_FULL set; without it every model, run, number of ranks and stage
// at least once.
//
//===----------------------------------------------------------------------===//

#include "tests/e2e/Oracle.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <cstdlib>

namespace zerograph::testing {
namespace {

bool full() {
  const char *value = std::getenv("ZEROGRAPH_FULL");
  return value && *value;
}

/// Compares statistics of one rank, in ONNX's convention. In float32 the last
/// steps are another trajectory (see the test of resnet-mini), and
/// ModelTrainingTest holds those of float64 to 1e-6; one update left out would
/// be 0.01.
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
            checkTraining(training);
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

// Lion, Adagrad, LAMB, a schedule, and groups of parameters:
// tests/e2e/optimizers.
TEST(Oracle, OptimizersGroupsAndSchedules) {
  int number = 0;
  for (const char *model : {"mlp-digits", "gpt2-nano"}) {
    for (const char *run :
         {"lion", "adagrad", "adamw_cosine", "adamw_no_decay", "adamw_groups",
          "sgd_groups", "lamb", "lamb_groups"}) {
      for (int64_t stage = 0; stage < 4; ++stage) {
        if (full() || stage == number % 4) {
          Training training{model, "model.onnx", run, stage % 2 ? 2 : 4, stage};
          Outcome outcome = trainModel(training);
          expectLosses(training, outcome);
          expectMoved(training, outcome);
        }
      }
      ++number;
    }
  }
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
          checkTraining(training);
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

// Logits and their gradients by tiles of rows: four of them on one rank, two on
// each of two, and one on each of four.
TEST(Oracle, WideHead) { checkForms({{"wide-head", "model.onnx"}}); }

// Hidden layers by tiles of rows.
TEST(Oracle, HiddenTiles) {
  for (const char *recompute : {"none", "selective", "units"}) {
    for (Training training :
         {Training{"gpt2-nano", "model.onnx", "sgd", 1, 2},
          Training{"gpt2-nano", "model_ts.onnx", "adamw", 2, 3}}) {
      training.recompute = recompute;
      training.also = [](CompileOptions &options) {
        options.hidden_tile = 1 << 12;
      };
      EXPECT_GT(sumsInPlace(compilePlan(training)), 0) << training.describe();
      checkTraining(training);
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
    checkTraining(training);
  }
}

// PyTorch clips by the same norm.
TEST(Oracle, Clipping) {
  for (Training training :
       {Training{"mlp-digits", "model.onnx", "sgd_clip", 2, 2},
        Training{"mlp-digits", "model.onnx", "adamw_clip", 4, 0},
        Training{"gpt2-nano", "model_keep_names.onnx", "sgd_clip", 4, 3},
        Training{"gpt2-nano", "model_keep_names.onnx", "adamw_clip", 1, 0},
        Training{"gpt2-nano", "model_keep_names.onnx", "adamw_clip", 2, 1}}) {
    checkTraining(training);
    if (full()) {
      training.accumulate = 2;
      checkTraining(training);
    }
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
