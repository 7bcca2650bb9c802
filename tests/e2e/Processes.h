//===- Processes.h - a training under mpirun ------------------------------===//

#ifndef ZEROGRAPH_TESTS_E2E_PROCESSES_H
#define ZEROGRAPH_TESTS_E2E_PROCESSES_H

#include "tests/e2e/Harness.h"

namespace zerograph::testing {

/// Trains by `zerograph-run` under mpirun: a process a rank, each with an
/// emulated GPU, which exchange by emulated NCCL. Failed expectations say what
/// went wrong, also for the emulators. Of the result there are the losses.
Outcome trainProcesses(const Training &training, uint32_t seed);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_PROCESSES_H
