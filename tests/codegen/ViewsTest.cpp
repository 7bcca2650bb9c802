//===- ViewsTest.cpp - kernels that read through views --------------------===//

#include "passes/kernels/View.h"
#include "tests/codegen/KernelRun.h"
#include "tests/support/Says.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;
using zerograph::expectSays;

namespace {

const char *kF = "tensor<f32>";

TEST(Views, TransposeOfHeads) {
  expectMatchesInterpreter(
      kernel("tensor<2x5x3x20xf32>", kF,
             "%r = nn.transpose %a [0, 2, 1, 3] : tensor<2x5x3x20xf32> -> "
             "tensor<2x3x5x20xf32>\n",
             "tensor<2x3x5x20xf32>"));
}

TEST(Views, TransposeOfMatrix) {
  for (std::string element : {"f32", "i64", "i1", "f64", "i8"}) {
    expectMatchesInterpreter(
        kernel("tensor<37x41x" + element + ">", kF,
               "%r = nn.transpose %a [1, 0] : tensor<37x41x" + element +
                   "> -> tensor<41x37x" + element + ">\n",
               "tensor<41x37x" + element + ">"));
  }
}

TEST(Views, ReshapeThenTransposeThenAdd) {
  expectMatchesInterpreter(
      kernel("tensor<6x40xf32>", "tensor<5x6x8xf32>",
             "%s = nn.reshape %a : tensor<6x40xf32> -> tensor<6x5x8xf32>\n"
             "%t = nn.transpose %s [1, 0, 2] : tensor<6x5x8xf32> -> "
             "tensor<5x6x8xf32>\n"
             "%r = nn.binary add %t, %b : tensor<5x6x8xf32>\n",
             "tensor<5x6x8xf32>"));
}

/// As gradients of windows read them: shifted, and once an element of a block.
TEST(Views, ShiftedAndRepeated) {
  auto blocks = [](const std::string &from, const std::string &type) {
    std::string n = from.substr(1);
    return "%p" + n + " = nn.pad " + from + " [0, 0] value 0" +
           (type == "f32" ? ".0" : "") + " : " + type + " : tensor<5x16x" +
           type + "> -> tensor<5x17x" + type + ">\n%s" + n + " = nn.slice %p" +
           n + " [0, 1] step [1, 1] : tensor<5x17x" + type +
           "> -> tensor<5x16x" + type + ">\n%o" + n + " = nn.reshape %s" + n +
           " : tensor<5x16x" + type + "> -> tensor<5x16x1x" + type + ">\n%r" +
           n + " = nn.broadcast %o" + n + " : tensor<5x16x1x" + type +
           "> -> tensor<5x16x2x" + type + ">\n";
  };
  expectMatchesInterpreter(
      kernel("tensor<5x16xf32>", "tensor<5x16xi8>",
             blocks("%a", "f32") + blocks("%b", "i8") +
                 "%i = nn.convert %rb : tensor<5x16x2xi8> -> "
                 "tensor<5x16x2xi32>\n%h = nn.iota 2 : tensor<5x16x2xi32>\n"
                 "%c = nn.compare eq %i, %h : tensor<5x16x2xi32> -> "
                 "tensor<5x16x2xi1>\n%z = nn.constant dense<0.0> : "
                 "tensor<5x16x2xf32>\n%r = nn.select %c, %ra, %z : "
                 "tensor<5x16x2xi1>, tensor<5x16x2xf32>\n",
             "tensor<5x16x2xf32>"));
}

TEST(Views, SlicesForwardAndBackward) {
  expectMatchesInterpreter(
      kernel("tensor<9x40xf32>", kF,
             "%r = nn.slice %a [1, 5] step [2, 1] : tensor<9x40xf32> -> "
             "tensor<4x30xf32>\n",
             "tensor<4x30xf32>"));
  expectMatchesInterpreter(
      kernel("tensor<9x40xf32>", kF,
             "%r = nn.slice %a [8, 39] step [-1, -3] : tensor<9x40xf32> -> "
             "tensor<9x13xf32>\n",
             "tensor<9x13xf32>"));
}

TEST(Views, Pads) {
  expectMatchesInterpreter(
      kernel("tensor<3x20xf32>", kF,
             "%r = nn.pad %a [1, 2] value 7.0 : f32 : tensor<3x20xf32> -> "
             "tensor<6x41xf32>\n",
             "tensor<6x41xf32>"));
  // Views of a repeated value, of a member, of booleans.
  expectMatchesInterpreter(
      kernel("tensor<3x1xf32>", kF,
             "%s = nn.broadcast %a : tensor<3x1xf32> -> tensor<3x20xf32>\n"
             "%e = nn.unary exp %s : tensor<3x20xf32> -> tensor<3x20xf32>\n"
             "%r = nn.pad %e [1, 2] value 7.0 : f32 : tensor<3x20xf32> -> "
             "tensor<6x41xf32>\n",
             "tensor<6x41xf32>"));
  expectMatchesInterpreter(
      kernel("tensor<3x20xi1>", kF,
             "%r = nn.pad %a [0, 2] value true : tensor<3x20xi1> -> "
             "tensor<3x41xi1>\n",
             "tensor<3x41xi1>"));
}

// nn-decompose makes concat a select of pads.
TEST(Views, Concat) {
  expectMatchesInterpreter(
      kernel("tensor<4x17xf32>", "tensor<4x8xf32>",
             "%p = nn.pad %a [0, 0] value 0.0 : f32 : tensor<4x17xf32> -> "
             "tensor<4x25xf32>\n"
             "%q = nn.pad %b [0, 17] value 0.0 : f32 : tensor<4x8xf32> -> "
             "tensor<4x25xf32>\n"
             "%i = nn.iota 1 : tensor<4x25xi64>\n"
             "%n = nn.constant dense<17> : tensor<4x25xi64>\n"
             "%c = nn.compare lt %i, %n : tensor<4x25xi64> -> tensor<4x25xi1>\n"
             "%r = nn.select %c, %p, %q : tensor<4x25xi1>, tensor<4x25xf32>\n",
             "tensor<4x25xf32>"));
}

TEST(Views, CausalMaskFromIota) {
  expectMatchesInterpreter(kernel(
      "tensor<2x19x19xf32>", kF,
      "%i = nn.iota 1 : tensor<2x19x19xi64>\n"
      "%j = nn.iota 2 : tensor<2x19x19xi64>\n"
      "%c = nn.compare le %j, %i : tensor<2x19x19xi64> -> "
      "tensor<2x19x19xi1>\n"
      "%f = nn.iota 2 : tensor<2x19x19xf32>\n"
      "%r = nn.select %c, %a, %f : tensor<2x19x19xi1>, tensor<2x19x19xf32>\n",
      "tensor<2x19x19xf32>"));
}

// A truth of the row together with one of the columns.
TEST(Views, MaskOfRowAndColumns) {
  expectMatchesInterpreter(
      kernel("tensor<9x41xf32>", "tensor<9x1xi1>",
             "%i = nn.iota 1 : tensor<9x41xi64>\n"
             "%n = nn.constant dense<22> : tensor<9x41xi64>\n"
             "%c = nn.compare lt %i, %n : tensor<9x41xi64> -> tensor<9x41xi1>\n"
             "%d = nn.broadcast %b : tensor<9x1xi1> -> tensor<9x41xi1>\n"
             "%e = nn.binary logical_and %c, %d : tensor<9x41xi1>\n"
             "%z = nn.unary exp %a : tensor<9x41xf32> -> tensor<9x41xf32>\n"
             "%r = nn.select %e, %a, %z : tensor<9x41xi1>, tensor<9x41xf32>\n",
             "tensor<9x41xf32>"));
}

TEST(Views, SmallConstant) {
  expectMatchesInterpreter(
      kernel("tensor<3x4xf32>", kF,
             "%c = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
             "%d = nn.reshape %c : tensor<4xf32> -> tensor<1x4xf32>\n"
             "%e = nn.broadcast %d : tensor<1x4xf32> -> tensor<3x4xf32>\n"
             "%m = nn.constant dense<[[true, false, false, true], [true, true, "
             "false, false], [false, false, false, true]]> : tensor<3x4xi1>\n"
             "%s = nn.binary add %a, %e : tensor<3x4xf32>\n"
             "%r = nn.select %m, %s, %a : tensor<3x4xi1>, tensor<3x4xf32>\n",
             "tensor<3x4xf32>"));
}

// Indices outside the table are clamped: -3 ... 9 into 7 rows.
TEST(Views, GatherOfRows) {
  for (std::string index : {"i64", "i32"}) {
    expectMatchesInterpreter(
        kernel("tensor<7x33xf32>", "tensor<4x5x" + index + ">",
               "%r = nn.gather %a, %b : tensor<7x33xf32>, tensor<4x5x" + index +
                   "> -> tensor<4x5x33xf32>\n",
               "tensor<4x5x33xf32>"),
        0, -3, 9);
  }
}

TEST(Views, GatherOfElements) {
  expectMatchesInterpreter(
      kernel("tensor<50xf32>", "tensor<3x40xi64>",
             "%r = nn.gather %a, %b : tensor<50xf32>, tensor<3x40xi64> -> "
             "tensor<3x40xf32>\n",
             "tensor<3x40xf32>"),
      0, -3, 60);
}

TEST(Views, GatherThenTransposeThenPad) {
  expectMatchesInterpreter(
      kernel("tensor<7x33xf32>", "tensor<5xi64>",
             "%g = nn.gather %a, %b : tensor<7x33xf32>, tensor<5xi64> -> "
             "tensor<5x33xf32>\n"
             "%t = nn.transpose %g [1, 0] : tensor<5x33xf32> -> "
             "tensor<33x5xf32>\n"
             "%r = nn.pad %t [1, 2] value 7.0 : f32 : tensor<33x5xf32> -> "
             "tensor<35x9xf32>\n",
             "tensor<35x9xf32>"),
      0, -3, 9);
}

// A softmax over [heads x keys] read through a transpose: the row is no
// single stride.
TEST(Views, ReductionOverRowsOfSeveralStrides) {
  expectMatchesInterpreter(
      kernel("tensor<3x5x20xf32>", kF,
             "%t = nn.transpose %a [1, 2, 0] : tensor<3x5x20xf32> -> "
             "tensor<5x20x3xf32>\n"
             "%u = nn.reshape %t : tensor<5x20x3xf32> -> tensor<5x20x3xf32>\n"
             "%r = nn.reduce sum %u [1, 2] : tensor<5x20x3xf32> -> "
             "tensor<5x1x1xf32>\n",
             "tensor<5x1x1xf32>"));
}

// A reduced dimension before one of size 1, and rows of one element.
TEST(Views, ReductionsBesideDimensionsOfOne) {
  expectMatchesInterpreter(
      kernel("tensor<5x7x1xf32>", kF,
             "%r = nn.reduce sum %a [1] : tensor<5x7x1xf32> -> "
             "tensor<5x1x1xf32>\n",
             "tensor<5x1x1xf32>"));
  expectMatchesInterpreter(
      kernel("tensor<5x1xf32>", kF,
             "%s = nn.reduce sum %a [1] : tensor<5x1xf32> -> "
             "tensor<5x1xf32>\n"
             "%r = nn.binary mul %s, %a : tensor<5x1xf32>\n",
             "tensor<5x1xf32>"));
  expectMatchesInterpreter(
      kernel("tensor<5x30xf32>", kF,
             "%r = nn.reduce max %a [0, 1] : tensor<5x30xf32> -> "
             "tensor<1x1xf32>\n",
             "tensor<1x1xf32>"));
}

TEST(Views, CopiesAndFills) {
  expectMatchesInterpreter(R"(
nn.program @f(%x: tensor<5x30xf32>, %y: tensor<5x1xf32>) {
  %k:4 = nn.kernel rows (%a = %x, %b = %y) : (tensor<5x30xf32>, tensor<5x1xf32>) -> (tensor<5x30xf32>, tensor<5x30xf32>, tensor<5x30xf32>, tensor<5x30xi64>) {
    %c = nn.constant dense<2.5> : tensor<5x30xf32>
    %d = nn.broadcast %b : tensor<5x1xf32> -> tensor<5x30xf32>
    %i = nn.iota 0 : tensor<5x30xi64>
    nn.yield %a, %c, %d, %i : tensor<5x30xf32>, tensor<5x30xf32>, tensor<5x30xf32>, tensor<5x30xi64>
  }
  nn.return
})");
}

TEST(Views, ComposesStridesOffsetsAndBounds) {
  Program program(R"(
nn.program @f(%x: tensor<6x40xf32>) -> tensor<5x6x10xf32> {
  %0 = nn.reshape %x : tensor<6x40xf32> -> tensor<6x5x8xf32>
  %1 = nn.transpose %0 [1, 0, 2] : tensor<6x5x8xf32> -> tensor<5x6x8xf32>
  %2 = nn.slice %1 [0, 5, 0] step [1, -1, 1] : tensor<5x6x8xf32> -> tensor<5x6x8xf32>
  %3 = nn.pad %2 [0, 0, 2] value 0.0 : f32 : tensor<5x6x8xf32> -> tensor<5x6x10xf32>
  nn.return %3 : tensor<5x6x10xf32>
})");
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  nn::ProgramOp function = program.function("f");
  Value result = function.front().getTerminator()->getOperand(0);
  FailureOr<View> view = composeView(result);
  ASSERT_TRUE(succeeded(view));
  EXPECT_EQ(view->base, function.getArgument(0));
  EXPECT_EQ(view->offset, 5 * 40 - 2);
  ASSERT_EQ(view->dims.size(), 3u);
  EXPECT_EQ(view->dims[0].stride, 8);
  EXPECT_EQ(view->dims[1].stride, -40);
  EXPECT_EQ(view->dims[2].stride, 1);
  EXPECT_EQ(view->dims[2].lo, 2);
  EXPECT_EQ(view->dims[2].hi, 10);
  EXPECT_FALSE(view->dims[0].isBounded());
}

TEST(Views, RefusesWhatHasNoFormula) {
  CompiledKernel refused(
      kernel("tensor<4x6xf32>", kF,
             "%t = nn.transpose %a [1, 0] : tensor<4x6xf32> -> "
             "tensor<6x4xf32>\n"
             "%r = nn.reshape %t : tensor<6x4xf32> -> tensor<24xf32>\n",
             "tensor<24xf32>"));
  EXPECT_FALSE(refused.ok());
  expectSays(refused.diagnostics(), "no single address formula");
}

TEST(Views, RefusesHalfPrecision) {
  CompiledKernel refused(
      kernel("tensor<4xbf16>", kF,
             "%r = nn.unary neg %a : tensor<4xbf16> -> tensor<4xbf16>\n",
             "tensor<4xbf16>"));
  EXPECT_FALSE(refused.ok());
  expectSays(refused.diagnostics(), "not in 'bf16'");
}

} // namespace
