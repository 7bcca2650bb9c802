//===- CountedCost.cpp - costs of kernels against what is counted ---------===//

#include "tests/codegen/CountedCost.h"

#include "codegen/emit/Cost.h"
#include "passes/ir/nn/Locations.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::zg;
using zerograph::emulator::Touched;

static int64_t distinct(const std::vector<bool> &which, Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  return std::count(which.begin(), which.end(), true) *
         nn::elementBytes(element);
}

/// Returns whether the kernel reads the argument by one view that knows no
/// indices.
static bool isReadByOneView(BlockArgument argument) {
  return argument.hasOneUse() &&
         argument.getOwner()->getOps<nn::GatherOp>().empty();
}

void zg::testing::expectCostIsCounted(nn::KernelOp kernel,
                                      const std::vector<Touched> &touched) {
  FailureOr<emit::KernelCost> cost = emit::costOf(kernel, /*wholeHeads=*/false);
  ASSERT_TRUE(succeeded(cost));
  std::string name = nn::nameOf(kernel.getLoc());
  bool scatters = kernel.getForm() == nn::KernelForm::scatter;
  unsigned operands = kernel->getNumOperands();
  for (unsigned i = 0; i < operands; ++i) {
    int64_t counted = distinct(touched[i].read, kernel.getOperand(i).getType());
    int64_t moved = cost->operands[i].moved;
    if (isReadByOneView(kernel.getBody().getArgument(i))) {
      EXPECT_EQ(moved, counted) << name << ", operand " << i;
    } else {
      EXPECT_GE(moved, counted) << name << ", operand " << i;
      EXPECT_LE(moved, int64_t(touched[i].loaded)) << name << ", operand " << i;
    }
  }
  for (unsigned i = operands; i < touched.size(); ++i) {
    Type type = kernel->getResult(i - operands).getType();
    int64_t counted = distinct(touched[i].written, type);
    int64_t moved = cost->operands[i].moved;
    EXPECT_TRUE(moved == counted || (scatters && moved > counted))
        << name << ", result " << i - operands << " moves " << moved << ", not "
        << counted;
  }
}
