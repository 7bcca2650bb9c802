//===- AccessesTest.cpp - what kernels for CUDA read at once --------------===//
//
// As wide as alignment and shape allow, and no wider: the emulator refuses an
// access that is not aligned.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/CudaRun.h"
#include "tests/codegen/KernelRun.h"
#include "tests/support/Says.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using zerograph::expectSays;

namespace {

/// A kernel of rows of one result, whose body is `ops` and yields %r.
std::string kernelText(const std::string &from, const std::string &to,
                       const std::string &ops) {
  return "nn.program @f(%x: " + from + ", %y: " + from +
         ") {\n %0 = nn.kernel rows (%a = %x, %b = %y) : (" + from + ", " +
         from + ") -> " + to + " {\n" + ops + "\n nn.yield %r : " + to +
         "\n }\n nn.return\n}";
}

std::string ptxOf(const std::string &text) {
  Program program(text);
  EXPECT_TRUE(program.ok()) << program.diagnostics();
  nn::KernelOp kernel;
  program.getModule().walk([&](nn::KernelOp op) { kernel = op; });
  return CudaKernels({kernel}).ptx("sm_80");
}

std::string sumOf(const std::string &type) {
  return kernelText(type, type, "%r = nn.binary add %a, %b : " + type);
}

/// Elements [begin, begin + 1000) of 1005.
std::string sliceFrom(int64_t begin) {
  return kernelText("tensor<1005xf32>", "tensor<1000xf32>",
                    "%s = nn.slice %a [" + std::to_string(begin) +
                        "] step [1] : tensor<1005xf32> -> "
                        "tensor<1000xf32>\n"
                        "%r = nn.unary exp %s : tensor<1000xf32> -> "
                        "tensor<1000xf32>");
}

std::string rowSum(int64_t cols) {
  std::string type = "tensor<5x" + std::to_string(cols) + "xf32>";
  return kernelText(type, "tensor<5x1xf32>",
                    "%p = nn.binary mul %a, %b : " + type +
                        "\n%r = nn.reduce sum %p [1] : " + type +
                        " -> tensor<5x1xf32>");
}

TEST(Accesses, ElementsSideBySide) {
  // With a tail of three, and of less than one access.
  for (const char *type : {"tensor<1003xf32>", "tensor<3xf32>",
                           "tensor<3x7x8xf64>", "tensor<9x6xf32>"}) {
    expectMatchesInterpreter(sumOf(type));
  }
  expectSays(ptxOf(sumOf("tensor<1003xf32>")), "ld.global.v4.f32",
             "st.global.v4.f32");
  expectSays(ptxOf(sumOf("tensor<1003xf64>")), "ld.global.v2.f64",
             "st.global.v2.f64");
  std::string gelu = kernelText("tensor<64x768xf32>", "tensor<64x768xf32>",
                                "%e = nn.unary erf %a : tensor<64x768xf32> -> "
                                "tensor<64x768xf32>\n"
                                "%r = nn.binary mul %e, %b : "
                                "tensor<64x768xf32>");
  expectSays(ptxOf(gelu), "ld.global.v4.f32", "st.global.v4.f32");
}

TEST(Accesses, NoWiderThanAPlaceIsAligned) {
  for (int64_t begin : {0, 1, 2, 4, 5}) {
    expectMatchesInterpreter(sliceFrom(begin));
  }
  expectSays(ptxOf(sliceFrom(4)), "ld.global.nc.v4.f32");
  EXPECT_THAT(ptxOf(sliceFrom(2)), AllOf(HasSubstr("ld.global.nc.v2.f32"),
                                         Not(HasSubstr("ld.global.nc.v4.f32")),
                                         Not(HasSubstr("ld.global.v"))));
  EXPECT_THAT(ptxOf(sliceFrom(1)), AllOf(HasSubstr("st.global.v4.f32"),
                                         AllOf(Not(HasSubstr("ld.global.nc.v")),
                                               Not(HasSubstr("ld.global.v")))));
}

TEST(Accesses, LoadsPassStoresThatAreElsewhere) {
  // The sum may lie on an operand, row sums on none.
  EXPECT_THAT(ptxOf(sumOf("tensor<1003xf32>")), Not(HasSubstr(".nc")));
  EXPECT_THAT(ptxOf(rowSum(96)), Not(HasSubstr("ld.global.v")));
}

/// Puts `cols` columns of zeros before and after those of an operand, and adds
/// rows up or does not.
std::string paddedRows(int64_t cols, bool sums) {
  std::string wide = "tensor<5x" + std::to_string(16 + 2 * cols) + "xf32>";
  std::string text = "%p = nn.pad %a [0, " + std::to_string(cols) +
                     "] value 0.0 : f32 : tensor<5x16xf32> -> " + wide +
                     "\n%e = nn.unary exp %p : " + wide + " -> " + wide + "\n";
  std::string result = sums ? "tensor<5x1xf32>" : wide;
  text += sums ? "%r = nn.reduce sum %e [1] : " + wide + " -> " + result
               : "%r = nn.binary mul %e, %e : " + wide;
  return kernelText("tensor<5x16xf32>", result, text);
}

TEST(Accesses, BoundsOfColumns) {
  for (int64_t cols : {1, 2, 3, 4, 8, 12}) {
    expectMatchesInterpreter(paddedRows(cols, false), 1e-5);
    expectMatchesInterpreter(paddedRows(cols, true), 1e-5);
  }
  expectSays(ptxOf(paddedRows(8, false)), "ld.global.nc.v4.f32");
  EXPECT_THAT(ptxOf(paddedRows(2, false)),
              AllOf(HasSubstr("ld.global.nc.v2.f32"),
                    Not(HasSubstr("ld.global.nc.v4.f32")),
                    Not(HasSubstr("ld.global.v"))));
  EXPECT_THAT(
      ptxOf(paddedRows(3, false)),
      AllOf(Not(HasSubstr("ld.global.nc.v")), Not(HasSubstr("ld.global.v"))));
}

TEST(Accesses, RowsByPairs) {
  for (int64_t cols : {2, 62, 96, 97, 130, 4098, 4100, 8322}) {
    expectMatchesInterpreter(rowSum(cols), 1e-4);
  }
  expectSays(ptxOf(rowSum(96)), "ld.global.nc.v2.f32");
  EXPECT_THAT(ptxOf(rowSum(97)), AllOf(Not(HasSubstr("ld.global.nc.v")),
                                       Not(HasSubstr("ld.global.v"))));
}

/// Sums of the columns of both operands' product, over `rows` of `runs`.
std::string columnSums(int64_t runs, int64_t rows, int64_t cols,
                       const std::string &element) {
  auto shape = [&](int64_t middle, const std::string &type) {
    return "tensor<" + std::to_string(runs) + "x" + std::to_string(middle) +
           "x" + std::to_string(cols) + "x" + type + ">";
  };
  std::string in = shape(rows, element), wide = shape(rows, "f32");
  std::string to = shape(1, "f32");
  std::string convert = " : " + in + " -> " + wide + "\n";
  return kernel(in, in,
                "%c = nn.convert %a" + convert + "%d = nn.convert %b" +
                    convert + "%p = nn.binary mul %c, %d : " + wide +
                    "\n%r = nn.reduce sum %p [1] : " + wide + " -> " + to +
                    "\n",
                to, "columns");
}

// One block of rows, and several, the last of which is short.
TEST(Accesses, ColumnsSideBySide) {
  for (int64_t cols : {8, 12, 36, 130, 37}) {
    for (int64_t rows : {7, 64, 201}) {
      expectMatchesInterpreter(columnSums(1, rows, cols, "i8"), 1e-4);
      expectMatchesInterpreter(columnSums(3, rows, cols, "f32"), 1e-4);
    }
  }
  expectSays(ptxOf(columnSums(1, 201, 768, "f32")), "ld.global.nc.v4.f32",
             "st.global.v4.f32");
  expectSays(ptxOf(columnSums(1, 201, 768, "bf16")), "ld.global.nc.v4.u32",
             "st.global.v4.f32");
  expectSays(ptxOf(columnSums(2, 70, 4, "bf16")), "ld.global.nc.v4.u16");
  EXPECT_THAT(
      ptxOf(columnSums(1, 201, 37, "f32")),
      AllOf(Not(HasSubstr("ld.global.nc.v")), Not(HasSubstr("ld.global.v"))));
}

TEST(Accesses, IndicesOf32Bits) {
  EXPECT_THAT(ptxOf(sumOf("tensor<60000x35000xi8>")),
              Not(HasSubstr("setp.gt.s64")));
  expectSays(ptxOf(sumOf("tensor<62000x35000xi8>")), "setp.gt.s64");
}

} // namespace
