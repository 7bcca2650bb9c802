//===- CountedCost.h - costs of kernels against what the emulator counts --===//

#ifndef ZEROGRAPH_TESTS_CODEGEN_COUNTEDCOST_H
#define ZEROGRAPH_TESTS_CODEGEN_COUNTEDCOST_H

#include "passes/ir/nn/NNDialect.h"
#include "tests/emulator/Accesses.h"

#include <vector>

namespace mlir::zg::testing {

/// The cost of a kernel is what a launch has touched, operand by operand:
/// exactly, but for what `codegen/emit/Cost.h` says to count as more: rows that
/// a gather chose twice and several views of one operand.
void expectCostIsCounted(
    nn::KernelOp kernel,
    const std::vector<zerograph::emulator::Touched> &touched);

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_CODEGEN_COUNTEDCOST_H
