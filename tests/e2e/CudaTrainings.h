//===- CudaTrainings.h - what is trained on a GPU and on the host ---------===//

#ifndef ZEROGRAPH_TESTS_E2E_CUDATRAININGS_H
#define ZEROGRAPH_TESTS_E2E_CUDATRAININGS_H

#include "tests/e2e/Harness.h"

#include <vector>

namespace zerograph::testing {

/// How ranks exchange: by copies, on a GPU that all of one process share; or by
/// NCCL, with a GPU each, as threads of one process or under mpirun.
enum class Exchange { OnOneGpu, Threads, Processes };

struct CudaTraining : Training {
  Exchange exchange = Exchange::OnOneGpu;

  std::string describe() const;
};

/// The matrix: models of both exporters, dropout included, every stage, one to
/// four ranks, one and two micro-batches, every exchange, with and without
/// clipping, keeping activations or recomputing them, some also in bf16 and
/// fp16; two steps, all by generated kernels.
std::vector<CudaTraining> allCudaTrainings();

/// A sample of it in which each two values of these meet, except that models
/// with many numbers have at most two ranks and one step.
std::vector<CudaTraining> cudaTrainings();

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_CUDATRAININGS_H
