//===- CudaTrainings.h - what is trained on a GPU and on the host ---------===//

#ifndef ZEROGRAPH_TESTS_E2E_CUDATRAININGS_H
#define ZEROGRAPH_TESTS_E2E_CUDATRAININGS_H

#include "tests/e2e/Harness.h"

#include <vector>

namespace zerograph::testing {

/// Every stage, one to four ranks, one and two micro-batches; a transformer; a
/// network with convolutions. All by generated kernels.
inline std::vector<Training> cudaTrainings() {
  std::vector<Training> trainings;
  auto add = [&](const char *model, int64_t stage, int64_t ranks,
                 int64_t accumulate, int64_t micro_batch, int steps) {
    Training &training = trainings.emplace_back();
    training.model = model;
    training.zero_stage = stage;
    training.ranks = ranks;
    training.accumulate = accumulate;
    training.micro_batch = micro_batch;
    training.steps = steps;
    training.matmul = "generated";
    training.gradients = true;
  };
  add("mlp-digits", 0, 1, 1, 0, 3);
  add("mlp-digits", 0, 1, 2, 0, 3);
  add("mlp-digits", 0, 2, 1, 2, 3);
  add("mlp-digits", 1, 2, 2, 2, 3);
  add("mlp-digits", 2, 3, 1, 2, 3);
  add("mlp-digits", 3, 4, 2, 2, 3);
  add("gpt2-nano", 3, 2, 1, 1, 1);
  add("resnet-mini", 2, 2, 1, 1, 1);
  return trainings;
}

/// Losses, gradients and parameters.
inline void expectSameOutcome(const Outcome &host, const Outcome &cuda,
                              const std::string &what) {
  ASSERT_FALSE(cuda.result.losses.empty()) << what;
  EXPECT_EQ(host.result.losses, cuda.result.losses) << what;
  expectSameBits(host.parameters, cuda.parameters, what);
  expectSameBits(host.gradients, cuda.gradients, what);
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_CUDATRAININGS_H
