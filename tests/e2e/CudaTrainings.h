//===- CudaTrainings.h - what is trained on a GPU and on the host ---------===//

#ifndef ZEROGRAPH_TESTS_E2E_CUDATRAININGS_H
#define ZEROGRAPH_TESTS_E2E_CUDATRAININGS_H

#include "tests/e2e/Harness.h"

#include <vector>

namespace zerograph::testing {

/// The matrix: models of both exporters, dropout included, every stage, one to
/// four ranks, one and two micro-batches; two steps, all by generated kernels.
std::vector<Training> allCudaTrainings();

/// A sample of it in which each two values of model, stage, ranks and
/// micro-batches meet, but that models with many numbers have at most two ranks
/// and one step.
std::vector<Training> cudaTrainings();

/// Losses, gradients and parameters.
void expectSameOutcome(const Outcome &host, const Outcome &cuda,
                       const std::string &what);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_CUDATRAININGS_H
