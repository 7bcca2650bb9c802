//===- ViewsTest.cpp - kernels that read through views --------------------===//

#include "passes/kernels/View.h"
#include "tests/codegen/KernelRun.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

/// A rows kernel over %a and %b whose body is `lines`, yielding %r.
std::string kernel(const std::string &a, const std::string &b,
                   const std::string &lines, const std::string &result,
                   const std::string &form = "rows") {
  return "func.func @f(%x: " + a + ", %y: " + b + ") {\n  %k = nn.kernel " +
         form + " (%a = %x, %b = %y) : (" + a + ", " + b + ") -> " + result +
         " {\n" + lines + "    nn.yield %r : " + result + "\n  }\n  return\n}";
}

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
  // Of a repeated value, of a member, of booleans.
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
func.func @f(%x: tensor<5x30xf32>, %y: tensor<5x1xf32>) {
  %k:4 = nn.kernel rows (%a = %x, %b = %y) : (tensor<5x30xf32>, tensor<5x1xf32>) -> (tensor<5x30xf32>, tensor<5x30xf32>, tensor<5x30xf32>, tensor<5x30xi64>) {
    %c = nn.constant dense<2.5> : tensor<5x30xf32>
    %d = nn.broadcast %b : tensor<5x1xf32> -> tensor<5x30xf32>
    %i = nn.iota 0 : tensor<5x30xi64>
    nn.yield %a, %c, %d, %i : tensor<5x30xf32>, tensor<5x30xf32>, tensor<5x30xf32>, tensor<5x30xi64>
  }
  return
})");
}

TEST(Views, ComposesStridesOffsetsAndBounds) {
  Program program(R"(
func.func @f(%x: tensor<6x40xf32>) -> tensor<5x6x10xf32> {
  %0 = nn.reshape %x : tensor<6x40xf32> -> tensor<6x5x8xf32>
  %1 = nn.transpose %0 [1, 0, 2] : tensor<6x5x8xf32> -> tensor<5x6x8xf32>
  %2 = nn.slice %1 [0, 5, 0] step [1, -1, 1] : tensor<5x6x8xf32> -> tensor<5x6x8xf32>
  %3 = nn.pad %2 [0, 0, 2] value 0.0 : f32 : tensor<5x6x8xf32> -> tensor<5x6x10xf32>
  return %3 : tensor<5x6x10xf32>
})");
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  func::FuncOp function = program.function("f");
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
  EXPECT_NE(refused.diagnostics().find("no single address formula"),
            std::string::npos)
      << refused.diagnostics();
}

TEST(Views, RefusesHalfPrecision) {
  CompiledKernel refused(
      kernel("tensor<4xbf16>", kF,
             "%r = nn.unary neg %a : tensor<4xbf16> -> tensor<4xbf16>\n",
             "tensor<4xbf16>"));
  EXPECT_FALSE(refused.ok());
  EXPECT_NE(refused.diagnostics().find("not in 'bf16'"), std::string::npos)
      << refused.diagnostics();
}

TEST(Columns, BiasGradient) {
  for (int cols : {1, 10, 16, 50, 128, 300}) {
    for (int rows : {1, 5, 64, 65, 200}) {
      std::string r = std::to_string(rows), c = std::to_string(cols);
      std::string in = "tensor<" + r + "x" + c + "xf32>";
      std::string out = "tensor<1x" + c + "xf32>";
      expectMatchesInterpreter(
          kernel(in, kF,
                 "%r = nn.reduce sum %a [0] : " + in + " -> " + out + "\n", out,
                 "columns"),
          1e-5);
    }
  }
}

// The gradients of a layer_norm's scale and bias, and work after the sum.
TEST(Columns, SeveralReductionsOfMembers) {
  expectMatchesInterpreter(R"(
func.func @f(%x: tensor<3x70x37xf32>, %m: tensor<3x70x1xf32>) {
  %k:2 = nn.kernel columns (%a = %x, %b = %m) : (tensor<3x70x37xf32>, tensor<3x70x1xf32>) -> (tensor<1x1x37xf32>, tensor<37xf32>) {
    %e = nn.unary exp %b : tensor<3x70x1xf32> -> tensor<3x70x1xf32>
    %c = nn.broadcast %e : tensor<3x70x1xf32> -> tensor<3x70x37xf32>
    %d = nn.binary mul %a, %c : tensor<3x70x37xf32>
    %s = nn.reduce sum %d [0, 1] : tensor<3x70x37xf32> -> tensor<1x1x37xf32>
    %t = nn.reduce max %a [0, 1] : tensor<3x70x37xf32> -> tensor<1x1x37xf32>
    %u = nn.reshape %t : tensor<1x1x37xf32> -> tensor<37xf32>
    %v = nn.unary tanh %u : tensor<37xf32> -> tensor<37xf32>
    nn.yield %s, %v : tensor<1x1x37xf32>, tensor<37xf32>
  }
  return
})",
                           1e-5);
}

// The gradient of heads that were repeated: the reduced dimension lies between
// others, whose columns fill no whole chunks.
TEST(Columns, DimensionBetweenOthers) {
  for (int cols : {1, 3, 16, 37, 96}) {
    for (int rows : {2, 5, 70}) {
      std::string c = std::to_string(cols), r = std::to_string(rows);
      std::string in = "tensor<5x" + r + "x" + c + "xf32>";
      std::string out = "tensor<5x1x" + c + "xf32>";
      expectMatchesInterpreter(
          kernel(in, kF,
                 "%e = nn.unary exp %a : " + in + " -> " + in + "\n" +
                     "%r = nn.reduce sum %e [1] : " + in + " -> " + out + "\n",
                 out, "columns"),
          1e-5);
    }
  }
}

// Two of them, read through a transposition and beside a number for each row.
TEST(Columns, DimensionBetweenOthersOfViews) {
  expectMatchesInterpreter(R"(
func.func @f(%x: tensor<6x90x4xf32>, %m: tensor<6x4x1xf32>) {
  %k:2 = nn.kernel columns (%a = %x, %b = %m) : (tensor<6x90x4xf32>, tensor<6x4x1xf32>) -> (tensor<6x1x90xf32>, tensor<6x90xf32>) {
    %h = nn.transpose %a [0, 2, 1] : tensor<6x90x4xf32> -> tensor<6x4x90xf32>
    %c = nn.broadcast %b : tensor<6x4x1xf32> -> tensor<6x4x90xf32>
    %d = nn.binary mul %h, %c : tensor<6x4x90xf32>
    %s = nn.reduce sum %d [1] : tensor<6x4x90xf32> -> tensor<6x1x90xf32>
    %u = nn.reduce max %h [1] : tensor<6x4x90xf32> -> tensor<6x1x90xf32>
    %v = nn.reshape %u : tensor<6x1x90xf32> -> tensor<6x90xf32>
    nn.yield %s, %v : tensor<6x1x90xf32>, tensor<6x90xf32>
  }
  return
})",
                           1e-5);
}

TEST(Scan, AlongEveryDimension) {
  for (std::string element : {"i64", "f32"}) {
    for (std::string dim : {"0", "1", "2"}) {
      for (std::string how :
           {"", " exclusive", " reverse", " exclusive reverse"}) {
        std::string type = "tensor<3x5x21x" + element + ">";
        expectMatchesInterpreter(
            kernel(type, kF,
                   "%r = nn.cumsum %a dim " + dim + how + " : " + type + "\n",
                   type, "scan"));
      }
    }
  }
}

TEST(Scatter, AddsInOrder) {
  expectMatchesInterpreter(
      kernel("tensor<4x5xi64>", "tensor<4x5x37xf32>",
             "%r = nn.scatter sum %a, %b : tensor<4x5xi64>, "
             "tensor<4x5x37xf32> -> tensor<7x37xf32>\n",
             "tensor<7x37xf32>", "scatter"),
      1e-6, -3, 9);
  expectMatchesInterpreter(
      kernel("tensor<20xi32>", "tensor<20xf32>",
             "%r = nn.scatter sum %a, %b : tensor<20xi32>, "
             "tensor<20xf32> -> tensor<7xf32>\n",
             "tensor<7xf32>", "scatter"),
      1e-6, -3, 9);
}

// More updates than a warp has threads, many of them of one row, and columns by
// fours.
TEST(Scatter, ManyUpdatesOfFewRows) {
  expectMatchesInterpreter(
      kernel("tensor<150xi64>", "tensor<150x20xf32>",
             "%r = nn.scatter sum %a, %b : tensor<150xi64>, "
             "tensor<150x20xf32> -> tensor<5x20xf32>\n",
             "tensor<5x20xf32>", "scatter"),
      1e-5, -3, 9);
  expectMatchesInterpreter(kernel("tensor<1xi64>", "tensor<1x17xf64>",
                                  "%r = nn.scatter sum %a, %b : tensor<1xi64>, "
                                  "tensor<1x17xf64> -> tensor<3x17xf64>\n",
                                  "tensor<3x17xf64>", "scatter"),
                           1e-6, -3, 9);
}

/// Rows that go into operand 2, under another shape.
std::string intoTable(const std::string &element,
                      const std::string &kind = "sum") {
  std::string rows = "tensor<4x5x37x" + element + ">";
  std::string flat = "tensor<259x" + element + ">";
  std::string table = "tensor<7x37x" + element + ">";
  return "func.func @f(%x: tensor<4x5xi64>, %y: " + rows + ", %z: " + flat +
         ") {\n  %k = nn.kernel scatter (%a = %x, %b = %y, %c = %z) : "
         "(tensor<4x5xi64>, " +
         rows + ", " + flat + ") -> " + table +
         " {\n    %t = nn.reshape %c : " + flat + " -> " + table +
         "\n    %r = nn.scatter " + kind +
         " %a, %b into %t : tensor<4x5xi64>, " + rows + " -> " + table +
         "\n    nn.yield %r : " + table + "\n  }\n  return\n}";
}

/// Some places of the table get several rows, some none.
TEST(Scatter, OfEveryKindAndType) {
  for (std::string kind : {"sum", "max", "min", "prod", "set"}) {
    expectMatchesInterpreter(intoTable("f32", kind), 1e-6, -3, 9);
    expectMatchesInterpreter(intoTable("f64", kind), 1e-14, -3, 9);
    for (std::string element : {"i8", "i16", "i32", "i64"}) {
      expectMatchesInterpreter(intoTable(element, kind), 0, -3, 9);
    }
    expectMatchesInterpreter(intoTable("ui8", kind), 0, 0, 250);
  }
  for (std::string kind : {"max", "min", "set"}) {
    expectMatchesInterpreter(intoTable("i1", kind), 0, -3, 9);
  }
}

/// The sum has the same bits whether it takes the table's bytes or its own,
/// for one and for three threads.
TEST(Scatter, AddsIntoATableInPlace) {
  CompiledKernel kernel(intoTable("f32"));
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
  std::vector<Bytes> arguments;
  for (const Tensor &argument : kernel.randomArguments(7, -3, 9)) {
    arguments.push_back(toBytes(argument));
  }
  Bytes apart = kernel.run(arguments)[0];
  EXPECT_NE(apart, arguments[2]);
  ASSERT_EQ(kernel.info().extent, 37);
  EXPECT_EQ(apart, kernel.run(arguments, {16, 32})[0]);
  EXPECT_EQ(apart, kernel.runInPlace(arguments, 2));
  EXPECT_EQ(apart, kernel.runInPlace(arguments, 2, {16, 32}));
}

TEST(Scan, OfElementsComputedInTheKernel) {
  expectMatchesInterpreter(
      kernel("tensor<3x9xi1>", kF,
             "%c = nn.convert %a : tensor<3x9xi1> -> tensor<3x9xi64>\n"
             "%r = nn.cumsum %c dim 1 : tensor<3x9xi64>\n",
             "tensor<3x9xi64>", "scan"));
}

} // namespace
