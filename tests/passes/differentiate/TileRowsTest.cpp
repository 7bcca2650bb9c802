//===- TileRowsTest.cpp - tiles of rows compute what the whole does -------===//

#include "passes/differentiate/Passes.h"
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
  std::string name;
  const char *text;
  /// Products of the first matrix that are multiplied; 1: nothing is tiled.
  int tiles;
};

void PrintTo(const Case &c, std::ostream *to) { *to << c.name; }

/// 160 rows: two tiles of 64 and one of 32. Logits are made of weights [V, K],
/// as `nn.Linear` has them.
constexpr const char *kLinear = R"(
  nn.program @micro(%x: tensor<160x4xf64>, %w: tensor<40x4xf64>,
                    %labels: tensor<160x1xi64>, %scale: tensor<1x1xf64>)
      -> (tensor<1x1xf64>, tensor<160x4xf64>, tensor<40x4xf64>) {
    %logits = nn.matmul %x, %w transpose_b
        : tensor<160x4xf64>, tensor<40x4xf64> -> tensor<160x40xf64>
    %l, %max, %sum = nn.softmax_cross_entropy %logits, %labels
        : tensor<160x40xf64>, tensor<160x1xi64>
        -> tensor<160x1xf64>, tensor<160x1xf64>, tensor<160x1xf64>
    %loss = nn.reduce sum %l [0, 1] : tensor<160x1xf64> -> tensor<1x1xf64>
    %dl = nn.broadcast %scale : tensor<1x1xf64> -> tensor<160x1xf64>
    %d = nn.softmax_cross_entropy_grad %logits, %labels, %max, %sum, %dl
        : tensor<160x40xf64>, tensor<160x1xi64>, tensor<160x1xf64>
    %dx = nn.matmul %d, %w
        : tensor<160x40xf64>, tensor<40x4xf64> -> tensor<160x4xf64>
    %dw = nn.matmul %d, %x transpose_a
        : tensor<160x40xf64>, tensor<160x4xf64> -> tensor<40x4xf64>
    nn.return %loss, %dx, %dw
        : tensor<1x1xf64>, tensor<160x4xf64>, tensor<40x4xf64>
  })";

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

/// A focal loss: a row's gradient depends on its own loss.
constexpr const char *kFocal = R"(
  nn.program @micro(%x: tensor<128x4xf64>, %w: tensor<40x4xf64>,
                    %labels: tensor<128x1xi64>)
      -> (tensor<128x1xf64>, tensor<40x4xf64>) {
    %logits = nn.matmul %x, %w transpose_b
        : tensor<128x4xf64>, tensor<40x4xf64> -> tensor<128x40xf64>
    %l, %max, %sum = nn.softmax_cross_entropy %logits, %labels
        : tensor<128x40xf64>, tensor<128x1xi64>
        -> tensor<128x1xf64>, tensor<128x1xf64>, tensor<128x1xf64>
    %minus = nn.unary neg %l : tensor<128x1xf64> -> tensor<128x1xf64>
    %p = nn.unary exp %minus : tensor<128x1xf64> -> tensor<128x1xf64>
    %loss = nn.binary mul %p, %l : tensor<128x1xf64>
    %d = nn.softmax_cross_entropy_grad %logits, %labels, %max, %sum, %p
        : tensor<128x40xf64>, tensor<128x1xi64>, tensor<128x1xf64>
    %dw = nn.matmul %d, %x transpose_a
        : tensor<128x40xf64>, tensor<128x4xf64> -> tensor<40x4xf64>
    nn.return %loss, %dw : tensor<128x1xf64>, tensor<40x4xf64>
  })";

/// The gradient depends on the loss of all rows.
constexpr const char *kOfLoss = R"(
  nn.program @micro(%x: tensor<128x4xf64>, %w: tensor<40x4xf64>,
                    %labels: tensor<128x1xi64>)
      -> (tensor<1x1xf64>, tensor<40x4xf64>) {
    %logits = nn.matmul %x, %w transpose_b
        : tensor<128x4xf64>, tensor<40x4xf64> -> tensor<128x40xf64>
    %l, %max, %sum = nn.softmax_cross_entropy %logits, %labels
        : tensor<128x40xf64>, tensor<128x1xi64>
        -> tensor<128x1xf64>, tensor<128x1xf64>, tensor<128x1xf64>
    %loss = nn.reduce sum %l [0, 1] : tensor<128x1xf64> -> tensor<1x1xf64>
    %dl = nn.broadcast %loss : tensor<1x1xf64> -> tensor<128x1xf64>
    %d = nn.softmax_cross_entropy_grad %logits, %labels, %max, %sum, %dl
        : tensor<128x40xf64>, tensor<128x1xi64>, tensor<128x1xf64>
    %dw = nn.matmul %d, %x transpose_a
        : tensor<128x40xf64>, tensor<128x4xf64> -> tensor<40x4xf64>
    nn.return %loss, %dw : tensor<1x1xf64>, tensor<40x4xf64>
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

const Case kCases[] = {
    {"Linear", kLinear, 3}, {"Smoothed", kSmoothed, 3}, {"Focal", kFocal, 2},
    {"OfLoss", kOfLoss, 1}, {"Returned", kReturned, 1}, {"Mixed", kMixed, 1},
    {"Gram", kGram, 1},
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

/// Expects that neither logits nor their gradients exist whole, nor the
/// gradient of the weights of one tile.
void expectNothingWhole(nn::ProgramOp program, int tiles) {
  int sums = 0, added = 0;
  program.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      EXPECT_FALSE(!isLiteralsName(op) &&
                   cast<RankedTensorType>(type).getNumElements() >= 100 * 38)
          << op->getName().getStringRef().str();
    }
    auto product = dyn_cast<MatmulOp>(op);
    if (product && product.getTransposeA()) {
      ++sums;
      added += bool(product.getInto());
    }
  });
  EXPECT_EQ(sums, tiles);
  EXPECT_EQ(added, tiles - 1);
}

class TileRows : public ::testing::TestWithParam<Case> {};

TEST_P(TileRows, ComputesTheSame) {
  Program program(GetParam().text);
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  nn::ProgramOp micro = program.function("micro");
  std::vector<Tensor> arguments = argumentsOf(micro);
  std::vector<Tensor> before = evaluate(micro, arguments);
  ASSERT_TRUE(succeeded(program.run(createTileRows(tilingAll()))))
      << program.diagnostics();
  EXPECT_EQ(productsOf(micro, 0), GetParam().tiles);
  if (GetParam().tiles > 1) {
    expectNothingWhole(micro, GetParam().tiles);
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

/// Without a rule by shapes, small models would have many steps of little work.
TEST(TileRowsOf, SmallTensorsStayWhole) {
  Program program(kLinear);
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  ASSERT_TRUE(succeeded(program.run(createTileRows())));
  EXPECT_EQ(productsOf(program.function("micro"), 0), 1);
}

} // namespace
