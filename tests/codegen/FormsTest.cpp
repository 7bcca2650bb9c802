//===- FormsTest.cpp - kernels of the forms besides rows ------------------===//

#include "tests/codegen/CudaRun.h"
#include "tests/codegen/KernelRun.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

const char *kF = "tensor<f32>";

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
nn.program @f(%x: tensor<3x70x37xf32>, %m: tensor<3x70x1xf32>) {
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
  nn.return
})",
                           1e-5);
}

/// The gradient of an activation, which is stored, and of a bias.
std::string storedColumns(int64_t rows, int64_t cols) {
  std::string width = std::to_string(cols) + "xf32>";
  std::string whole = "tensor<" + std::to_string(rows) + "x" + width;
  std::string sum = "tensor<1x" + width;
  return "nn.program @f(%x: " + whole + ", %dy: " + whole +
         ") {\n  %k:2 = nn.kernel columns (%a = %x, %b = %dy) : (" + whole +
         ", " + whole + ") -> (" + whole + ", " + sum +
         ") {\n    %t = nn.unary tanh %a : " + whole + " -> " + whole +
         "\n    %g = nn.binary mul %t, %b : " + whole +
         "\n    %s = nn.reduce sum %g [0] : " + whole + " -> " + sum +
         "\n    nn.yield %g, %s : " + whole + ", " + sum +
         "\n  }\n  nn.return\n}";
}

std::vector<Bytes> randomBytes(CompiledKernel &kernel) {
  std::vector<Bytes> arguments;
  for (const Tensor &argument : kernel.randomArguments(3)) {
    arguments.push_back(toBytes(argument));
  }
  return arguments;
}

TEST(Columns, StoreWhatTheyAddUp) {
  for (int64_t cols : {1, 10, 16, 37, 264}) {
    for (int64_t rows : {2, 5, 64, 65, 201}) {
      expectMatchesInterpreter(storedColumns(rows, cols), 1e-5);
    }
  }
}

// Rows are read before any of them is stored.
TEST(Columns, StoreWhereTheyRead) {
  CompiledKernel kernel(storedColumns(201, 264));
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
  std::vector<Bytes> arguments = randomBytes(kernel);
  CudaKernels cuda({kernel.kernel()});
  ASSERT_TRUE(cuda.ok());
  std::vector<Bytes> apart = cuda.run(0, arguments);
  EXPECT_EQ(apart, kernel.run(arguments));
  EXPECT_EQ(apart, cuda.run(0, arguments, 1, CudaKernels::InPlace{0, 0}));
  EXPECT_EQ(apart, cuda.run(0, arguments, 2, CudaKernels::InPlace{1, 0}));
}

// The last block that comes adds up what the others left, whichever it is, and
// leaves the counters as it found them. Without its fences, and the barriers
// around them, it might read too early.
TEST(Columns, TheLastBlockAddsUp) {
  CompiledKernel kernel(storedColumns(1100, 264));
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
  std::vector<Bytes> arguments = randomBytes(kernel);
  CudaKernels cuda({kernel.kernel()});
  ASSERT_TRUE(cuda.ok());
  std::vector<Bytes> expected = kernel.run(arguments);
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(cuda.run(0, arguments, seed), expected);
  }
  EXPECT_EQ(cuda.expectNeeded("membar.gl", 0, arguments), 2u);
  EXPECT_EQ(cuda.expectNeeded("bar.sync", 0, arguments), 2u);
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
nn.program @f(%x: tensor<6x90x4xf32>, %m: tensor<6x4x1xf32>) {
  %k:2 = nn.kernel columns (%a = %x, %b = %m) : (tensor<6x90x4xf32>, tensor<6x4x1xf32>) -> (tensor<6x1x90xf32>, tensor<6x90xf32>) {
    %h = nn.transpose %a [0, 2, 1] : tensor<6x90x4xf32> -> tensor<6x4x90xf32>
    %c = nn.broadcast %b : tensor<6x4x1xf32> -> tensor<6x4x90xf32>
    %d = nn.binary mul %h, %c : tensor<6x4x90xf32>
    %s = nn.reduce sum %d [1] : tensor<6x4x90xf32> -> tensor<6x1x90xf32>
    %u = nn.reduce max %h [1] : tensor<6x4x90xf32> -> tensor<6x1x90xf32>
    %v = nn.reshape %u : tensor<6x1x90xf32> -> tensor<6x90xf32>
    nn.yield %s, %v : tensor<6x1x90xf32>, tensor<6x90xf32>
  }
  nn.return
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

// Rows that are sorted by two and by three digits, and parts of a block's warps
// that are longer than a warp.
TEST(Scatter, ManyRows) {
  for (auto [rows, tolerance] : {std::pair("300", 1e-4), {"70000", 1e-6}}) {
    std::string table = "tensor<" + std::string(rows) + "x20xf32>";
    expectMatchesInterpreter(
        kernel("tensor<3000xi64>", "tensor<3000x20xf32>",
               "%r = nn.scatter sum %a, %b : tensor<3000xi64>, "
               "tensor<3000x20xf32> -> " +
                   table + "\n",
               table, "scatter"),
        tolerance, -5, double(std::stoi(rows)) + 5);
  }
}

/// Rows that go into operand 2, under another shape.
std::string intoTable(const std::string &element,
                      const std::string &kind = "sum") {
  std::string rows = "tensor<4x5x37x" + element + ">";
  std::string flat = "tensor<259x" + element + ">";
  std::string table = "tensor<7x37x" + element + ">";
  return "nn.program @f(%x: tensor<4x5xi64>, %y: " + rows + ", %z: " + flat +
         ") {\n  %k = nn.kernel scatter (%a = %x, %b = %y, %c = %z) : "
         "(tensor<4x5xi64>, " +
         rows + ", " + flat + ") -> " + table +
         " {\n    %t = nn.reshape %c : " + flat + " -> " + table +
         "\n    %r = nn.scatter " + kind +
         " %a, %b into %t : tensor<4x5xi64>, " + rows + " -> " + table +
         "\n    nn.yield %r : " + table + "\n  }\n  nn.return\n}";
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
