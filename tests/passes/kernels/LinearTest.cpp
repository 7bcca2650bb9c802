//===- LinearTest.cpp - the operands that a kernel adds up ----------------===//

#include "passes/kernels/Linear.h"
#include "tests/support/Program.h"
#include "gmock/gmock.h"

namespace mlir::zg::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Returns the operands in which %r is linear, of a kernel of %a, %b and %c.
SmallVector<unsigned> linearIn(const std::string &ops) {
  std::string type = "tensor<4x8xf32>";
  Program program("nn.program @f(%x: " + type + ") {\n %0 = nn.kernel rows (" +
                  "%a = %x, %b = %x, %c = %x) : (" + type + ", " + type + ", " +
                  type + ") -> " + type + " {\n" + ops +
                  "\n nn.yield %r : " + type + "\n }\n nn.return\n}");
  EXPECT_TRUE(program.ok()) << program.diagnostics();
  nn::KernelOp kernel;
  program.getModule().walk([&](nn::KernelOp op) { kernel = op; });
  return kernels::linearOperands(kernel, 0);
}

std::string op(const std::string &result, const std::string &text) {
  return result + " = nn." + text + " : tensor<4x8xf32>\n";
}

TEST(Linear, SumsAndScaledSums) {
  EXPECT_THAT(linearIn(op("%r", "binary add %a, %b")), ElementsAre(0, 1));
  EXPECT_THAT(
      linearIn(op("%s", "binary sub %a, %b") + op("%r", "binary div %s, %c")),
      ElementsAre(0, 1));
  EXPECT_THAT(
      linearIn(op("%s", "binary mul %b, %c") + op("%r", "binary add %a, %s")),
      ElementsAre(0, 1));
}

TEST(Linear, RoundingAndRows) {
  std::string f32 = "tensor<4x8xf32>", bf16 = "tensor<4x8xbf16>";
  EXPECT_THAT(linearIn("%n = nn.convert %a : " + f32 + " -> " + bf16 +
                       "\n%s = nn.convert %n : " + bf16 + " -> " + f32 + "\n" +
                       "%t = nn.reduce sum %s [1] : " + f32 +
                       " -> tensor<4x1xf32>\n" +
                       "%r = nn.broadcast %t : tensor<4x1xf32> -> " + f32),
              ElementsAre(0));
}

TEST(Linear, WhatIsNone) {
  EXPECT_THAT(linearIn(op("%r", "binary max %a, %b")), IsEmpty());
  EXPECT_THAT(
      linearIn(op("%s", "binary mul %a, %a") + op("%r", "binary add %b, %s")),
      ElementsAre(1));
  EXPECT_THAT(
      linearIn("%i = nn.compare gt %a, %b : tensor<4x8xf32> -> tensor<4x8xi1>\n"
               "%r = nn.select %i, %b, %c : tensor<4x8xi1>, tensor<4x8xf32>"),
      ElementsAre(2));
}

} // namespace
} // namespace mlir::zg::testing
