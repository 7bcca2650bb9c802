//===- TileRowsTest.cpp - tiles of rows compute what the whole does -------===//

#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

struct Case {
  std::string name, text;
  /// Products of the first matrix that are multiplied; 1: nothing is tiled.
  int tiles;
};

void PrintTo(const Case &c, std::ostream *to) { *to << c.name; }

/// A head whose weights are [V, K], as `nn.Linear` has them, and its gradients;
/// `gradient` makes the gradients of the losses, `%dl`. N stands for the rows.
std::string crossEntropy(const std::string &rows, const std::string &gradient) {
  std::string text = R"(
  nn.program @micro(%x: tensor<Nx4xf64>, %w: tensor<40x4xf64>,
                    %labels: tensor<Nx1xi64>, %scale: tensor<1x1xf64>,
                    %v: tensor<64x64xf64>)
      -> (tensor<Nx1xf64>, tensor<Nx4xf64>, tensor<40x4xf64>) {
    %logits = nn.matmul %x, %w transpose_b
        : tensor<Nx4xf64>, tensor<40x4xf64> -> tensor<Nx40xf64>
    %l, %max, %sum = nn.softmax_cross_entropy %logits, %labels
        : tensor<Nx40xf64>, tensor<Nx1xi64>
        -> tensor<Nx1xf64>, tensor<Nx1xf64>, tensor<Nx1xf64>
    %loss = nn.reduce sum %l [0, 1] : tensor<Nx1xf64> -> tensor<1x1xf64>
)" + gradient + R"(
    %d = nn.softmax_cross_entropy_grad %logits, %labels, %max, %sum, %dl
        : tensor<Nx40xf64>, tensor<Nx1xi64>, tensor<Nx1xf64>
    %dx = nn.matmul %d, %w
        : tensor<Nx40xf64>, tensor<40x4xf64> -> tensor<Nx4xf64>
    %dw = nn.matmul %d, %x transpose_a
        : tensor<Nx40xf64>, tensor<Nx4xf64> -> tensor<40x4xf64>
    nn.return %l, %dx, %dw
        : tensor<Nx1xf64>, tensor<Nx4xf64>, tensor<40x4xf64>
  })";
  for (size_t at; (at = text.find("<Nx")) != text.npos;) {
    text.replace(at + 1, 1, rows);
  }
  return text;
}

constexpr const char *kScaled =
    "%dl = nn.broadcast %scale : tensor<1x1xf64> -> tensor<Nx1xf64>";

/// A focal loss: a row's gradient depends on its own loss.
constexpr const char *kFocal = R"(
    %minus = nn.unary neg %l : tensor<Nx1xf64> -> tensor<Nx1xf64>
    %dl = nn.unary exp %minus : tensor<Nx1xf64> -> tensor<Nx1xf64>)";

/// The gradient depends on the loss of all rows.
constexpr const char *kOfLoss =
    "%dl = nn.broadcast %loss : tensor<1x1xf64> -> tensor<Nx1xf64>";

/// A product between the loss and the gradient has as many numbers as there are
/// rows, and computes none of them from one.
constexpr const char *kCoincidence = R"(
    %r = nn.reshape %l : tensor<128x1xf64> -> tensor<2x64xf64>
    %m = nn.matmul %r, %v
        : tensor<2x64xf64>, tensor<64x64xf64> -> tensor<2x64xf64>
    %dl = nn.reshape %m : tensor<2x64xf64> -> tensor<128x1xf64>)";

/// Rows of two dimensions, a bias, a soft cap, classes that are left out, and a
/// softmax with smoothed labels, written out; weights [K, V].
constexpr const char *kSmoothed = R"(
  nn.program @micro(%x: tensor<160x4xf64>, %w: tensor<4x40xf64>,
                    %b: tensor<40xf64>, %labels: tensor<2x80x1xi64>)
      -> (tensor<1x1x1xf64>, tensor<2x80x4xf64>, tensor<4x40xf64>,
          tensor<40xf64>) {
    %product = nn.matmul %x, %w
        : tensor<160x4xf64>, tensor<4x40xf64> -> tensor<160x40xf64>
    %b1 = nn.reshape %b : tensor<40xf64> -> tensor<1x40xf64>
    %bias = nn.broadcast %b1 : tensor<1x40xf64> -> tensor<160x40xf64>
    %biased = nn.binary add %product, %bias : tensor<160x40xf64>
    %all = nn.reshape %biased : tensor<160x40xf64> -> tensor<2x80x40xf64>
    %cap = nn.unary tanh %all : tensor<2x80x40xf64> -> tensor<2x80x40xf64>
    %logits = nn.slice %cap [0, 0, 2] step [1, 1, 1]
        : tensor<2x80x40xf64> -> tensor<2x80x38xf64>
    %p = nn.softmax %logits : tensor<2x80x38xf64>
    %log = nn.unary log %p : tensor<2x80x38xf64> -> tensor<2x80x38xf64>
    %classes = nn.iota 2 : tensor<2x80x38xi64>
    %wanted = nn.broadcast %labels : tensor<2x80x1xi64> -> tensor<2x80x38xi64>
    %hot = nn.compare eq %classes, %wanted : tensor<2x80x38xi64> -> tensor<2x80x38xi1>
    %much = nn.constant dense<0.9> : tensor<2x80x38xf64>
    %little = nn.constant dense<0.01> : tensor<2x80x38xf64>
    %target = nn.select %hot, %much, %little
        : tensor<2x80x38xi1>, tensor<2x80x38xf64>
    %terms = nn.binary mul %target, %log : tensor<2x80x38xf64>
    %row = nn.reduce sum %terms [2] : tensor<2x80x38xf64> -> tensor<2x80x1xf64>
    %loss = nn.reduce sum %row [0, 1, 2] : tensor<2x80x1xf64> -> tensor<1x1x1xf64>
    %dlog = nn.binary sub %p, %target : tensor<2x80x38xf64>
    %dcap = nn.pad %dlog [0, 0, 2] value 0.0 : f64
        : tensor<2x80x38xf64> -> tensor<2x80x40xf64>
    %square = nn.binary mul %cap, %cap : tensor<2x80x40xf64>
    %dall = nn.binary mul %dcap, %square : tensor<2x80x40xf64>
    %d = nn.reshape %dall : tensor<2x80x40xf64> -> tensor<160x40xf64>
    %db1 = nn.reduce sum %dall [0, 1] : tensor<2x80x40xf64> -> tensor<1x1x40xf64>
    %db = nn.reshape %db1 : tensor<1x1x40xf64> -> tensor<40xf64>
    %dx1 = nn.matmul %d, %w transpose_b
        : tensor<160x40xf64>, tensor<4x40xf64> -> tensor<160x4xf64>
    %dx = nn.reshape %dx1 : tensor<160x4xf64> -> tensor<2x80x4xf64>
    %dw = nn.matmul %x, %d transpose_a
        : tensor<160x4xf64>, tensor<160x40xf64> -> tensor<4x40xf64>
    nn.return %loss, %dx, %dw, %db : tensor<1x1x1xf64>, tensor<2x80x4xf64>,
        tensor<4x40xf64>, tensor<40xf64>
  })";

constexpr const char *kReturned = R"(
  nn.program @micro(%x: tensor<128x4xf64>, %w: tensor<4x40xf64>)
      -> tensor<128x40xf64> {
    %logits = nn.matmul %x, %w
        : tensor<128x4xf64>, tensor<4x40xf64> -> tensor<128x40xf64>
    %y = nn.unary exp %logits : tensor<128x40xf64> -> tensor<128x40xf64>
    nn.return %y : tensor<128x40xf64>
  })";

/// Each row of the softmax has numbers of all rows.
constexpr const char *kMixed = R"(
  nn.program @micro(%x: tensor<128x4xf64>, %w: tensor<4x40xf64>)
      -> tensor<40x1xf64> {
    %logits = nn.matmul %x, %w
        : tensor<128x4xf64>, tensor<4x40xf64> -> tensor<128x40xf64>
    %across = nn.transpose %logits [1, 0] : tensor<128x40xf64> -> tensor<40x128xf64>
    %p = nn.softmax %across : tensor<40x128xf64>
    %sum = nn.reduce max %p [1] : tensor<40x128xf64> -> tensor<40x1xf64>
    nn.return %sum : tensor<40x1xf64>
  })";

/// Rows of the result are products of all of %y, which is tiled first.
constexpr const char *kGram = R"(
  nn.program @micro(%x: tensor<128x4xf64>, %w: tensor<4x40xf64>)
      -> tensor<128x1xf64> {
    %y = nn.matmul %x, %w
        : tensor<128x4xf64>, tensor<4x40xf64> -> tensor<128x40xf64>
    %gram = nn.matmul %y, %y transpose_b
        : tensor<128x40xf64>, tensor<128x40xf64> -> tensor<128x128xf64>
    %sum = nn.reduce sum %gram [1] : tensor<128x128xf64> -> tensor<128x1xf64>
    nn.return %sum : tensor<128x1xf64>
  })";

/// Both factors are the same matrix: rows of it times all of it. An input as
/// large as the product is read by row.
constexpr const char *kOfItself = R"(
  nn.program @micro(%x: tensor<160x4xf64>, %target: tensor<160x160xf64>)
      -> (tensor<160x1xf64>, tensor<160x4xf64>) {
    %gram = nn.matmul %x, %x transpose_b
        : tensor<160x4xf64>, tensor<160x4xf64> -> tensor<160x160xf64>
    %d = nn.binary sub %gram, %target : tensor<160x160xf64>
    %square = nn.binary mul %d, %d : tensor<160x160xf64>
    %sum = nn.reduce sum %square [1] : tensor<160x160xf64> -> tensor<160x1xf64>
    %dx = nn.matmul %d, %x
        : tensor<160x160xf64>, tensor<160x4xf64> -> tensor<160x4xf64>
    nn.return %sum, %dx : tensor<160x1xf64>, tensor<160x4xf64>
  })";

/// A batch of one sample, whose dimension the reduction does not name; rows of
/// a literal and of a parameter.
constexpr const char *kOneSample = R"(
  nn.program @micro(%x: tensor<128x4xf64>, %w: tensor<4x40xf64>,
                    %places: tensor<128x1xf64> {nn.parameter =
                      #nn.parameter<"p", module = "", trainable = true,
                                    init = normal>})
      -> (tensor<1x1x40xf64>, tensor<1x1x1xf64>) {
    %y = nn.matmul %x, %w
        : tensor<128x4xf64>, tensor<4x40xf64> -> tensor<128x40xf64>
    %numbers = nn.iota 1 : tensor<2x64xf64>
    %place = nn.reshape %numbers : tensor<2x64xf64> -> tensor<128x1xf64>
    %both = nn.binary add %place, %places : tensor<128x1xf64>
    %added = nn.broadcast %both : tensor<128x1xf64> -> tensor<128x40xf64>
    %sum = nn.binary add %y, %added : tensor<128x40xf64>
    %all = nn.reshape %sum : tensor<128x40xf64> -> tensor<1x128x40xf64>
    %rows = nn.reduce sum %all [1] : tensor<1x128x40xf64> -> tensor<1x1x40xf64>
    %loss = nn.reduce sum %all [1, 2] : tensor<1x128x40xf64> -> tensor<1x1x1xf64>
    nn.return %rows, %loss : tensor<1x1x40xf64>, tensor<1x1x1xf64>
  })";

/// 160 rows are two tiles of 64 and one of 32.
const Case kCases[] = {
    {"Linear", crossEntropy("160", kScaled), 3},
    {"Focal", crossEntropy("128", kFocal), 2},
    {"OfLoss", crossEntropy("128", kOfLoss), 1},
    {"Coincidence", crossEntropy("128", kCoincidence), 1},
    {"Smoothed", kSmoothed, 3},
    {"Returned", kReturned, 1},
    {"Mixed", kMixed, 1},
    {"Gram", kGram, 1},
    {"OfItself", kOfItself, 3},
    {"OneSample", kOneSample, 2},
};

TileRowsOptions tilingAll() {
  TileRowsOptions options;
  options.wider = 8;
  options.least = 1;
  options.leastRows = 64;
  return options;
}

std::vector<Tensor> argumentsOf(nn::ProgramOp program) {
  std::vector<Tensor> arguments;
  for (auto [i, type] : llvm::enumerate(program.getArgumentTypes())) {
    bool labels = getElementTypeOrSelf(type).isInteger();
    arguments.push_back(labels ? randomTensor(type, i + 1, 0, 37)
                               : randomTensor(type, i + 1, -2, 2));
  }
  return arguments;
}

int productsOf(nn::ProgramOp program, unsigned argument) {
  int count = 0;
  program.walk([&](MatmulOp product) {
    Value left = product.getLhs();
    if (auto rows = left.getDefiningOp<TakeRowsOp>()) {
      left = rows.getOperand();
    }
    count += left == program.getArgument(argument) && !product.getTransposeA();
  });
  return count;
}

/// Returns whether the op makes or renames a literal, which needs no memory.
bool isLiteralsName(Operation *op) {
  while (op && isa<SliceOp, ReshapeOp>(op)) {
    op = op->getOperand(0).getDefiningOp();
  }
  return op && isLiteral(op);
}

int64_t elementsOf(Type type) {
  return cast<RankedTensorType>(type).getNumElements();
}

/// Expects that nothing is larger than half of what the product was, such as
/// logits and their gradients, and that gradients of weights are added up in
/// place.
void expectNothingWhole(nn::ProgramOp program, int64_t product, int tiles) {
  int sums = 0, added = 0;
  program.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      EXPECT_TRUE(isLiteralsName(op) || 2 * elementsOf(type) <= product)
          << op->getName().getStringRef().str();
    }
    auto matmul = dyn_cast<MatmulOp>(op);
    if (matmul && matmul.getTransposeA()) {
      ++sums;
      added += bool(matmul.getInto());
    }
  });
  EXPECT_TRUE(sums == 0 || sums == tiles) << sums;
  EXPECT_EQ(added, std::max(sums - 1, 0));
}

class TileRows : public ::testing::TestWithParam<Case> {};

TEST_P(TileRows, ComputesTheSame) {
  Program program(GetParam().text);
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  nn::ProgramOp micro = program.function("micro");
  std::vector<Tensor> arguments = argumentsOf(micro);
  std::vector<Tensor> before = evaluate(micro, arguments);
  int64_t product =
      elementsOf((*micro.getBody().getOps<MatmulOp>().begin()).getType());
  ASSERT_TRUE(succeeded(program.run(createTileRows(tilingAll()))))
      << program.diagnostics();
  EXPECT_EQ(productsOf(micro, 0), GetParam().tiles);
  if (GetParam().tiles > 1) {
    expectNothingWhole(micro, product, GetParam().tiles);
  }
  std::vector<Tensor> after = evaluate(micro, arguments);
  ASSERT_EQ(before.size(), after.size());
  for (auto [a, b] : llvm::zip(before, after)) {
    ASSERT_EQ(a.type(), b.type());
    for (auto [x, y] : llvm::zip(a.values, b.values)) {
      EXPECT_NEAR(x, y, 1e-12 * (1 + std::fabs(x)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TileRows, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

/// Returns how many tiles a head of so many rows has.
int tilesOf(int64_t rows) {
  std::string n = std::to_string(rows);
  Program program("nn.program @micro(%x: tensor<" + n +
                  "x1xf32>, %w: tensor<1x16xf32>) -> tensor<" + n +
                  "x1xf32> {\n %y = nn.matmul %x, %w : tensor<" + n +
                  "x1xf32>, tensor<1x16xf32> -> tensor<" + n +
                  "x16xf32>\n %s = nn.reduce sum %y [1] : tensor<" + n +
                  "x16xf32> -> tensor<" + n +
                  "x1xf32>\n nn.return %s : tensor<" + n + "x1xf32>\n}");
  EXPECT_TRUE(program.ok()) << program.diagnostics();
  EXPECT_TRUE(succeeded(program.run(createTileRows())));
  return productsOf(program.function("micro"), 0);
}

/// docs/memory.md says so.
TEST(TileRowsOf, TilesFollowFromTheRows) {
  EXPECT_EQ(tilesOf(65535), 1) << "fewer than 2^20 numbers";
  EXPECT_EQ(tilesOf(65536), 16) << "of 4,096 rows";
  EXPECT_EQ(tilesOf(262144), 64);
  EXPECT_EQ(tilesOf(262145), 64) << "of 4,160 rows";
  EXPECT_EQ(tilesOf(1 << 20), 64);
}

/// Without a rule by shapes, small models would have many steps of little work.
TEST(TileRowsOf, SmallTensorsStayWhole) {
  Program program(crossEntropy("160", kScaled));
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  ASSERT_TRUE(succeeded(program.run(createTileRows())));
  EXPECT_EQ(productsOf(program.function("micro"), 0), 1);
}

/// Rows that are taken before products are those that were taken after them.
TEST(SliceProducts, ComputesTheSame) {
  Program program(R"(
    nn.program @forward(%x: tensor<12x4xf64>, %w: tensor<4x40xf64>,
                        %b: tensor<1x1x40xf64>)
        -> (tensor<2x3x20xf64>, tensor<12x40xf64>) {
      %y = nn.matmul %x, %w
          : tensor<12x4xf64>, tensor<4x40xf64> -> tensor<12x40xf64>
      %all = nn.reshape %y : tensor<12x40xf64> -> tensor<2x6x40xf64>
      %c = nn.broadcast %b : tensor<1x1x40xf64> -> tensor<2x6x40xf64>
      %sum = nn.binary add %all, %c : tensor<2x6x40xf64>
      %part = nn.slice %sum [0, 0, 10] step [1, 1, 1]
          : tensor<2x6x40xf64> -> tensor<2x6x20xf64>
      %left = nn.slice %part [0, 5, 0] step [1, -2, 1]
          : tensor<2x6x20xf64> -> tensor<2x3x20xf64>
      nn.return %left, %y : tensor<2x3x20xf64>, tensor<12x40xf64>
    })");
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  nn::ProgramOp forward = program.function("forward");
  std::vector<Tensor> arguments = argumentsOf(forward);
  std::vector<Tensor> before = evaluate(forward, arguments);
  ASSERT_TRUE(succeeded(program.run(createSliceProducts())))
      << program.diagnostics();
  int products = 0;
  forward.walk([&](MatmulOp product) {
    products += shapeOf(product.getLhs()).front() == 6;
  });
  EXPECT_EQ(products, 1);
  std::vector<Tensor> after = evaluate(forward, arguments);
  for (auto [a, b] : llvm::zip_equal(before, after)) {
    EXPECT_EQ(a.type(), b.type());
    EXPECT_EQ(a.values, b.values);
  }
}

/// The sum of narrow products, and of what else is added, in any order.
TEST(MergeProducts, ComputesTheSame) {
  Program program(R"(
    nn.program @forward(%a: tensor<2x24xf64>, %b: tensor<2x16xf64>,
                        %c: tensor<4x24xf64>, %d: tensor<4x16xf64>,
                        %e: tensor<24x16xf64>) -> tensor<24x16xf64> {
      %0 = nn.matmul %a, %b transpose_a
          : tensor<2x24xf64>, tensor<2x16xf64> -> tensor<24x16xf64>
      %1 = nn.matmul %c, %d transpose_a
          : tensor<4x24xf64>, tensor<4x16xf64> -> tensor<24x16xf64>
      %2 = nn.matmul %a, %b transpose_a
          : tensor<2x24xf64>, tensor<2x16xf64> -> tensor<24x16xf64>
      %3 = nn.binary add %e, %0 : tensor<24x16xf64>
      %4 = nn.binary add %1, %2 : tensor<24x16xf64>
      %5 = nn.binary add %3, %4 : tensor<24x16xf64>
      nn.return %5 : tensor<24x16xf64>
    })");
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  nn::ProgramOp forward = program.function("forward");
  std::vector<Tensor> arguments = argumentsOf(forward);
  std::vector<Tensor> before = evaluate(forward, arguments);
  ASSERT_TRUE(succeeded(program.run(createMergeProducts())))
      << program.diagnostics();
  int products = 0;
  forward.walk([&](MatmulOp product) {
    products += shapeOf(product.getLhs()).front() == 8;
  });
  EXPECT_EQ(products, 1);
  std::vector<Tensor> after = evaluate(forward, arguments);
  ASSERT_EQ(before[0].values.size(), after[0].values.size());
  for (size_t i = 0; i < before[0].values.size(); ++i) {
    EXPECT_NEAR(before[0].values[i], after[0].values[i], 1e-12) << i;
  }
}

} // namespace
