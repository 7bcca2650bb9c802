//===- Harness.h - compiles and trains a model inside a test --------------===//

#ifndef ZEROGRAPH_TESTS_E2E_HARNESS_H
#define ZEROGRAPH_TESTS_E2E_HARNESS_H

#include "runtime/exec/Train.h"
#include "tests/e2e/Reference.h"
#include "tests/support/Folder.h"
#include "tools/compiler/Compile.h"

#include <functional>
#include <optional>
#include <string>

namespace zerograph::testing {

/// One training of a model of models/ from its own initial weights.
struct Training {
  std::string model; ///< folder in models/
  std::string file = "model.onnx";
  std::string run = "adamw"; ///< a run in reference.json: sets the optimizer
  int64_t ranks = 1;
  int64_t zero_stage = 0;
  int64_t micro_batch = 0; ///< 0: global batch / ranks / accumulate
  int64_t accumulate = 1;
  /// The length of the batches' sequences; gpt2-nano only.
  int64_t sequence = 64;
  int64_t bucket_bytes = 32 << 20;
  int64_t prefetch = 1;
  int64_t persistence_threshold = 0;
  unsigned threads = 1;
  std::string matmul = "library";
  std::string convolution = ""; ///< who convolves; empty: the default
  std::string reduction = "exact";
  std::string recompute = "none";
  std::string reduce = "each";
  std::string loss_mean = "micro-batches";
  std::string target = "host";
  std::string precision = "fp32";
  bool allow_tf32 = false;
  std::string algorithms = ""; ///< file of a GPU's libraries; empty: none
  Graphs graphs = Graphs::Compute;
  int steps = 0;             ///< 0: those of the reference
  bool gradients = false;    ///< dump those of the first step
  bool evaluates = false;    ///< can evaluate; training does not
  std::string settings = ""; ///< the model whose `run` it is; empty: the model
  /// The ratio of every Dropout node.
  std::optional<double> dropout = std::nullopt;
  uint64_t seed = 0;
  std::optional<double> learning_rate = std::nullopt; ///< instead of the run's
  std::optional<double> clip_norm = std::nullopt;     ///< instead of the run's
  /// Changes what else it is compiled with; the same for all that are compared.
  std::function<void(CompileOptions &)> also = nullptr;
  std::vector<std::string> lora = {}; ///< as `--lora` takes them

  /// "gpt2-nano/model.onnx adamw 2 ranks stage 3 ..."
  std::string describe() const;
};

struct Outcome {
  plan::Plan plan;
  TrainResult result;
  Arrays parameters; ///< as saved: with what adapters add
  Arrays adapters;
  Arrays gradients;
  Arrays states; ///< the optimizer's, as "fc1.weight.exp_avg"
  /// The norm of each step's gradient, if it is computed.
  std::vector<double> norms;
  std::vector<StepRecord> steps;
};

/// Compiles only; a failed expectation names the training.
plan::Plan compilePlan(const Training &training);

/// Compiles into a file, which the weights that need one lie beside; no plan
/// after a failed expectation.
std::optional<LoadedPlan> compileInto(const Training &training,
                                      const std::string &path);

/// Returns how many products are added to what their result has, as those of
/// all tiles but the first are.
int64_t sumsInPlace(const plan::Plan &plan);

/// Samples of the model's inputs.
std::string dataOf(const Training &training);

/// Compiles, trains, reads back what was saved.
Outcome trainModel(const Training &training);

/// Bit for bit; the first difference is named.
void expectSameBits(const Arrays &a, const Arrays &b, const std::string &what);
/// Losses, parameters, the optimizer's states and, where they were dumped,
/// gradients.
void expectSameOutcome(const Outcome &a, const Outcome &b,
                       const std::string &what);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_HARNESS_H
