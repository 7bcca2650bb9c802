//===- CostTest.cpp - what launches of kernels cost -----------------------===//
//
// The numbers here were worked out by hand. CudaModelsTest and CudaNodesTest
// compare the costs of every kernel of models with what launches touch.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/Cost.h"
#include "tests/codegen/CountedCost.h"
#include "tests/codegen/CudaRun.h"
#include "tests/codegen/KernelRun.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;
using ::testing::ElementsAre;

namespace {

/// The cost of a kernel over %a and %b, and what the emulator counts.
struct Counted {
  explicit Counted(const std::string &text) : program(text) {
    if (!program.ok()) {
      ADD_FAILURE() << program.diagnostics();
      return;
    }
    program.getModule().walk([&](nn::KernelOp op) { kernel = op; });
    FailureOr<emit::KernelCost> found =
        emit::costOf(kernel, /*wholeHeads=*/false);
    EXPECT_TRUE(succeeded(found));
    cost = succeeded(found) ? *found : emit::KernelCost();
  }

  /// Runs it on zeros.
  std::vector<zerograph::emulator::Touched> run() {
    CudaKernels cuda({kernel});
    std::vector<Bytes> operands;
    for (Type type : kernel->getOperandTypes()) {
      operands.emplace_back(nn::tensorBytes(type));
    }
    cuda.run(0, operands);
    return cuda.touched();
  }

  std::vector<int64_t> moved() const {
    std::vector<int64_t> bytes;
    for (const emit::OperandCost &operand : cost.operands) {
      bytes.push_back(operand.moved);
    }
    return bytes;
  }

  Program program;
  nn::KernelOp kernel;
  emit::KernelCost cost;
};

TEST(Cost, AViewOfAThirdIsAThird) {
  Counted third(kernel("tensor<8x96xf32>", "tensor<1x32xbf16>",
                       "%s = nn.slice %a [0, 32] step [1, 1] : "
                       "tensor<8x96xf32> -> tensor<8x32xf32>\n"
                       "%c = nn.convert %b : tensor<1x32xbf16> -> "
                       "tensor<1x32xf32>\n"
                       "%w = nn.broadcast %c : tensor<1x32xf32> -> "
                       "tensor<8x32xf32>\n"
                       "%r = nn.binary mul %s, %w : tensor<8x32xf32>\n",
                       "tensor<8x32xf32>"));
  EXPECT_THAT(third.moved(), ElementsAre(8 * 32 * 4, 32 * 2, 8 * 32 * 4));
  EXPECT_EQ(third.cost.elements, 8 * 32);
  // A product an element, and a conversion, which is made for each row.
  EXPECT_EQ(third.cost.f32.simple, 2 * 8 * 32);
  EXPECT_EQ(third.cost.f32.special, 0);
  expectCostIsCounted(third.kernel, third.run());
}

TEST(Cost, ViewsThatShareElementsAreNoMoreThanTheWhole) {
  Counted shifted(kernel("tensor<100xf32>", "tensor<90xf32>",
                         "%s = nn.slice %a [0] step [1] : tensor<100xf32> -> "
                         "tensor<90xf32>\n"
                         "%t = nn.slice %a [10] step [1] : tensor<100xf32> -> "
                         "tensor<90xf32>\n"
                         "%u = nn.binary sub %s, %t : tensor<90xf32>\n"
                         "%r = nn.binary div %u, %b : tensor<90xf32>\n",
                         "tensor<90xf32>"));
  EXPECT_THAT(shifted.moved(), ElementsAre(400, 360, 360));
  EXPECT_EQ(shifted.cost.f32.special, 90);
  expectCostIsCounted(shifted.kernel, shifted.run());
}

/// exp(a - max(a)), whose rows are swept twice.
std::string twoSweeps(int64_t rows, int64_t cols) {
  std::string shape = std::to_string(rows) + "x";
  std::string all = "tensor<" + shape + std::to_string(cols) + "xf32>";
  std::string one = "tensor<" + shape + "1xf32>";
  return kernel(all, one,
                "%m = nn.reduce max %a [1] : " + all + " -> " + one +
                    "\n%n = nn.binary add %m, %b : " + one +
                    "\n%w = nn.broadcast %n : " + one + " -> " + all +
                    "\n%d = nn.binary sub %a, %w : " + all +
                    "\n%r = nn.unary exp %d : " + all + " -> " + all + "\n",
                all);
}

TEST(Cost, AShortRowIsReadOnce) {
  Counted rows(twoSweeps(6, 1000));
  EXPECT_THAT(rows.moved(), ElementsAre(24000, 24, 24000));
  // The maximum, the difference, and one sum a row.
  EXPECT_EQ(rows.cost.f32.simple, 2 * 6000 + 6);
  EXPECT_EQ(rows.cost.f32.special, 6000);
  expectCostIsCounted(rows.kernel, rows.run());
}

// A launch loads such a row once a sweep; the cost is just that.
TEST(Cost, ALongRowIsReadOnceASweep) {
  constexpr int64_t kCols = 80'000;
  static_assert(kCols * 4 > emit::kCachedRow);
  Counted rows(twoSweeps(2, kCols));
  int64_t bytes = 2 * kCols * 4;
  EXPECT_THAT(rows.moved(), ElementsAre(2 * bytes, 8, bytes));
  auto touched = rows.run();
  EXPECT_EQ(touched[0].loaded, uint64_t(2 * bytes));
  EXPECT_EQ(touched[2].stored, uint64_t(bytes));
}

TEST(Cost, SumsOverColumns) {
  Counted columns(kernel("tensor<200x32xf32>", "tensor<1x32xf32>",
                         "%s = nn.reduce sum %a [0] : tensor<200x32xf32> -> "
                         "tensor<1x32xf32>\n"
                         "%r = nn.binary add %s, %b : tensor<1x32xf32>\n",
                         "tensor<1x32xf32>", "columns"));
  EXPECT_THAT(columns.moved(), ElementsAre(200 * 32 * 4, 128, 128));
  EXPECT_EQ(columns.cost.f32.simple, 200 * 32 + 32);
  expectCostIsCounted(columns.kernel, columns.run());
}

TEST(Cost, ColumnsThatAreStored) {
  Counted columns(R"(
nn.program @f(%x: tensor<200x32xf32>) {
  %k:2 = nn.kernel columns (%a = %x) : (tensor<200x32xf32>) -> (tensor<200x32xf32>, tensor<1x32xf32>) {
    %e = nn.binary mul %a, %a : tensor<200x32xf32>
    %s = nn.reduce sum %e [0] : tensor<200x32xf32> -> tensor<1x32xf32>
    nn.yield %e, %s : tensor<200x32xf32>, tensor<1x32xf32>
  }
  nn.return
})");
  EXPECT_THAT(columns.moved(), ElementsAre(200 * 32 * 4, 200 * 32 * 4, 128));
  EXPECT_EQ(columns.cost.f32.simple, 2 * 200 * 32);
  expectCostIsCounted(columns.kernel, columns.run());
}

// Every row that is chosen counts, up to all: the indices are not known.
TEST(Cost, GatheredRows) {
  auto rows = [](const std::string &count) {
    std::string result = "tensor<" + count + "x33xf32>";
    return Counted(kernel("tensor<7x33xf32>", "tensor<" + count + "xi64>",
                          "%r = nn.gather %a, %b : tensor<7x33xf32>, tensor<" +
                              count + "xi64> -> " + result + "\n",
                          result))
        .moved();
  };
  EXPECT_THAT(rows("4"), ElementsAre(4 * 33 * 4, 32, 4 * 33 * 4));
  EXPECT_THAT(rows("20"), ElementsAre(7 * 33 * 4, 160, 20 * 33 * 4));
}

TEST(Cost, AScatterSetsItsTableAndThenAddsToRows) {
  Counted scatter(kernel("tensor<5xi64>", "tensor<5x37xf32>",
                         "%r = nn.scatter sum %a, %b : tensor<5xi64>, "
                         "tensor<5x37xf32> -> tensor<7x37xf32>\n",
                         "tensor<7x37xf32>", "scatter"));
  int64_t table = 7 * 37 * 4, updates = 5 * 37 * 4;
  EXPECT_THAT(scatter.moved(), ElementsAre(40, updates, table + 2 * updates));
  EXPECT_EQ(scatter.cost.operands[2].movedApart, 0);
  EXPECT_EQ(scatter.cost.f32.simple, 5 * 37);
}

// A table that has the result's place already is not set.
TEST(Cost, AScatterIntoATable) {
  Counted scatter(R"(
nn.program @f(%x: tensor<5xi64>, %y: tensor<5x37xf32>, %z: tensor<7x37xf32>) {
  %k = nn.kernel scatter (%a = %x, %b = %y, %c = %z) : (tensor<5xi64>, tensor<5x37xf32>, tensor<7x37xf32>) -> tensor<7x37xf32> {
    %r = nn.scatter sum %a, %b into %c : tensor<5xi64>, tensor<5x37xf32> -> tensor<7x37xf32>
    nn.yield %r : tensor<7x37xf32>
  }
  nn.return
})");
  int64_t table = 7 * 37 * 4, updates = 5 * 37 * 4;
  EXPECT_THAT(scatter.moved(),
              ElementsAre(40, updates, table, table + 2 * updates));
  EXPECT_EQ(scatter.cost.operands[2].movedApart, table);
  EXPECT_EQ(scatter.cost.operands[3].movedApart, table);
}

TEST(Cost, PaddingIsNotRead) {
  Counted padded(kernel("tensor<3x20xf32>", "tensor<3x23xf32>",
                        "%p = nn.pad %a [0, 2] value 7.0 : f32 : "
                        "tensor<3x20xf32> -> tensor<3x23xf32>\n"
                        "%r = nn.binary add %p, %b : tensor<3x23xf32>\n",
                        "tensor<3x23xf32>"));
  EXPECT_THAT(padded.moved(), ElementsAre(240, 276, 276));
  expectCostIsCounted(padded.kernel, padded.run());
}

// The sums are no exponentials.
TEST(Cost, RunningSums) {
  Counted scan(kernel("tensor<3x9xf32>", "tensor<3x9xf32>",
                      "%p = nn.binary mul %a, %b : tensor<3x9xf32>\n"
                      "%e = nn.unary exp %p : tensor<3x9xf32> -> "
                      "tensor<3x9xf32>\n"
                      "%r = nn.cumsum %e dim 1 : tensor<3x9xf32>\n",
                      "tensor<3x9xf32>", "scan"));
  EXPECT_THAT(scan.moved(), ElementsAre(108, 108, 108));
  EXPECT_EQ(scan.cost.f32.simple, 2 * 27);
  EXPECT_EQ(scan.cost.f32.special, 27);
  expectCostIsCounted(scan.kernel, scan.run());
}

TEST(Cost, TypesOfOperations) {
  Counted mixed(kernel("tensor<64xi32>", "tensor<64xf64>",
                       "%d = nn.convert %a : tensor<64xi32> -> "
                       "tensor<64xf64>\n"
                       "%s = nn.binary add %a, %a : tensor<64xi32>\n"
                       "%e = nn.convert %s : tensor<64xi32> -> "
                       "tensor<64xf64>\n"
                       "%p = nn.binary pow %d, %b : tensor<64xf64>\n"
                       "%r = nn.binary mul %p, %e : tensor<64xf64>\n",
                       "tensor<64xf64>"));
  EXPECT_EQ(mixed.cost.integers.simple, 64);
  EXPECT_EQ(mixed.cost.f64.simple, 3 * 64);
  EXPECT_EQ(mixed.cost.f64.special, 64);
  EXPECT_EQ(mixed.cost.f32.simple, 0);
}

TEST(Cost, TheWidthThatRowsAreAlignedTo) {
  auto widths = [](int64_t cols) {
    std::string type = "tensor<4x" + std::to_string(cols) + "xf32>";
    std::string row = "tensor<4x1xf32>";
    Counted rows(kernel(type, row,
                        "%w = nn.broadcast %b : " + row + " -> " + type +
                            "\n%r = nn.binary add %a, %w : " + type + "\n",
                        type));
    return std::vector<int64_t>{rows.cost.operands[0].width,
                                rows.cost.operands[1].width,
                                rows.cost.operands[2].width};
  };
  EXPECT_THAT(widths(64), ElementsAre(16, 0, 16));
  EXPECT_THAT(widths(66), ElementsAre(8, 0, 8));
  EXPECT_THAT(widths(63), ElementsAre(4, 0, 4));
}

} // namespace
