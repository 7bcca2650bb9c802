//===- Oracle.h - what PyTorch gives, and how close to it -----------------===//

#ifndef ZEROGRAPH_TESTS_E2E_ORACLE_H
#define ZEROGRAPH_TESTS_E2E_ORACLE_H

#include "tests/e2e/Harness.h"

namespace zerograph::testing {

// Compare a training with PyTorch's float64 run of the same settings. Failed
// expectations name the training.
void expectLosses(const Training &training, const Outcome &outcome);
void expectNorms(const Training &training, const Outcome &outcome);
void expectGradients(const Training &training, const Outcome &outcome);
void expectMoved(const Training &training, const Outcome &outcome);
void expectFinalParameters(const Training &training, const Outcome &outcome);

/// Trains and expects all of it that the run has a reference for.
void checkTraining(Training training);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_ORACLE_H
