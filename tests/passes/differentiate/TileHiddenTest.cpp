//===- TileHiddenTest.cpp - tiles of hidden layers compute the same -------===//

#include "mlir/Transforms/Passes.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

constexpr int64_t kRows = 160, kWide = 40;

struct Case {
  std::string name;
  /// Makes %y : tensor<160x8xf64> of %x, %w, %u and %b, [8, 40], [8, 40] and
  /// [40], and of %v, [40, 8].
  std::string body;
  bool tiled;
};

void PrintTo(const Case &c, std::ostream *to) { *to << c.name; }

/// Stands for the types of wide and narrow tensors in the bodies.
std::string withTypes(std::string text) {
  for (auto [name, type] : {std::pair("WIDE", "tensor<160x40xf64>"),
                            {"NARROW", "tensor<160x8xf64>"},
                            {"INTO", "tensor<8x40xf64>"},
                            {"OUT", "tensor<40x8xf64>"}}) {
    for (size_t at; (at = text.find(name)) != text.npos;) {
      text.replace(at, strlen(name), type);
    }
  }
  return text;
}

constexpr const char *kMlp = R"(
  %0 = nn.matmul %x, %w : NARROW, INTO -> WIDE
  %b1 = nn.reshape %b : tensor<40xf64> -> tensor<1x40xf64>
  %b2 = nn.broadcast %b1 : tensor<1x40xf64> -> WIDE
  %1 = nn.binary add %0, %b2 : WIDE
  %h = nn.unary tanh %1 : WIDE -> WIDE
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

constexpr const char *kGated = R"(
  %gate = nn.matmul %x, %w : NARROW, INTO -> WIDE
  %up = nn.matmul %x, %u : NARROW, INTO -> WIDE
  %t = nn.unary tanh %gate : WIDE -> WIDE
  %h = nn.binary mul %t, %up : WIDE
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

/// One product makes both halves, in rows of two dimensions.
constexpr const char *kHalves = R"(
  %wu = nn.concat %w, %u dim 1 : INTO, INTO -> tensor<8x80xf64>
  %0 = nn.matmul %x, %wu : NARROW, tensor<8x80xf64> -> tensor<160x80xf64>
  %1 = nn.reshape %0 : tensor<160x80xf64> -> tensor<2x80x80xf64>
  %gate = nn.slice %1 [0, 0, 0] step [1, 1, 1]
      : tensor<2x80x80xf64> -> tensor<2x80x40xf64>
  %up = nn.slice %1 [0, 0, 40] step [1, 1, 1]
      : tensor<2x80x80xf64> -> tensor<2x80x40xf64>
  %t = nn.unary tanh %gate : tensor<2x80x40xf64> -> tensor<2x80x40xf64>
  %2 = nn.binary mul %t, %up : tensor<2x80x40xf64>
  %h = nn.reshape %2 : tensor<2x80x40xf64> -> WIDE
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

/// Two layers, with what is added around the first.
constexpr const char *kTwo = R"(
  %0 = nn.matmul %x, %w : NARROW, INTO -> WIDE
  %1 = nn.unary tanh %0 : WIDE -> WIDE
  %2 = nn.matmul %1, %v : WIDE, OUT -> NARROW
  %3 = nn.binary add %x, %2 : NARROW
  %4 = nn.matmul %3, %u : NARROW, INTO -> WIDE
  %h = nn.unary tanh %4 : WIDE -> WIDE
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

/// A row's scale is made of its hidden numbers.
constexpr const char *kNormed = R"(
  %0 = nn.matmul %x, %w : NARROW, INTO -> WIDE
  %1 = nn.unary exp %0 : WIDE -> WIDE
  %2 = nn.reduce sum %1 [1] : WIDE -> tensor<160x1xf64>
  %3 = nn.broadcast %2 : tensor<160x1xf64> -> WIDE
  %h = nn.binary div %1, %3 : WIDE
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

/// The mask would be stored, which kernels compute where they read it.
constexpr const char *kDropout = R"(
  %0 = nn.matmul %x, %w : NARROW, INTO -> WIDE
  %h, %mask = nn.dropout %0 ratio 0.5 number 0 samples []
      : WIDE -> tensor<160x40xi1>
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

/// A softmax over the rows.
constexpr const char *kMixed = R"(
  %0 = nn.matmul %x, %w : NARROW, INTO -> WIDE
  %1 = nn.transpose %0 [1, 0] : WIDE -> tensor<40x160xf64>
  %2 = nn.softmax %1 : tensor<40x160xf64>
  %h = nn.transpose %2 [1, 0] : tensor<40x160xf64> -> WIDE
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

/// A table of numbers as large as the layer, which is no product and which rows
/// do not make alone.
constexpr const char *kTable = R"(
  %0 = nn.matmul %x, %w : NARROW, INTO -> WIDE
  %2 = nn.unary tanh %x : NARROW -> NARROW
  %3 = nn.concat %2, %2, %2, %2, %2 dim 1
      : NARROW, NARROW, NARROW, NARROW, NARROW -> WIDE
  %4 = nn.cumsum %3 dim 0 : WIDE
  %h = nn.binary mul %0, %4 : WIDE
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

/// A table that forward alone reads.
constexpr const char *kAddedTable = R"(
  %0 = nn.matmul %x, %w : NARROW, INTO -> WIDE
  %2 = nn.unary tanh %x : NARROW -> NARROW
  %3 = nn.concat %2, %2, %2, %2, %2 dim 1
      : NARROW, NARROW, NARROW, NARROW, NARROW -> WIDE
  %4 = nn.cumsum %3 dim 0 : WIDE
  %h = nn.binary add %0, %4 : WIDE
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

/// The columns turned round, as rotary embeddings do.
constexpr const char *kRotated = R"(
  %0 = nn.matmul %x, %w : NARROW, INTO -> WIDE
  %1 = nn.slice %0 [0, 25] step [1, 1] : WIDE -> tensor<160x15xf64>
  %2 = nn.slice %0 [0, 0] step [1, 1] : WIDE -> tensor<160x25xf64>
  %3 = nn.concat %1, %2 dim 1 : tensor<160x15xf64>, tensor<160x25xf64> -> WIDE
  %h = nn.unary tanh %3 : WIDE -> WIDE
  %y = nn.matmul %h, %v : WIDE, OUT -> NARROW)";

const Case kCases[] = {
    {"Mlp", kMlp, true},          {"Rotated", kRotated, true},
    {"Gated", kGated, true},      {"Halves", kHalves, true},
    {"Two", kTwo, true},          {"Normed", kNormed, true},
    {"Dropout", kDropout, false}, {"Mixed", kMixed, false},
    {"Table", kTable, false},     {"AddedTable", kAddedTable, false},
};

std::string forwardOf(const std::string &body) {
  auto parameter = [](const std::string &name, const std::string &type) {
    return "%" + name + ": " + type + " {nn.parameter = #nn.parameter<\"" +
           name + "\", module = \"\", trainable = true, init = normal>}";
  };
  return withTypes("nn.program @forward(" + parameter("x", "NARROW") + ", " +
                   parameter("w", "INTO") + ", " + parameter("u", "INTO") +
                   ", " + parameter("b", "tensor<40xf64>") + ", " +
                   parameter("v", "OUT") +
                   ") -> (tensor<f64> {nn.output = \"loss\"}) {" + body +
                   R"(
  %squares = nn.binary mul %y, %y : NARROW loc("squares")
  %loss = nn.reduce sum %squares [0, 1] : NARROW -> tensor<1x1xf64> loc("loss")
  %scalar = nn.reshape %loss : tensor<1x1xf64> -> tensor<f64>
  nn.return %scalar : tensor<f64>
})");
}

int64_t elementsOf(Type type) {
  return cast<RankedTensorType>(type).getNumElements();
}

/// Returns the most elements that a tensor of the program has, besides names of
/// literals and what the program is given.
int64_t largest(nn::ProgramOp program) {
  int64_t most = 0;
  program.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      most = std::max(most, isLiteral(op) ? 0 : elementsOf(type));
    }
  });
  return most;
}

TileHiddenOptions threeTiles() {
  TileHiddenOptions options;
  options.tileElements = kRows * kWide / 3;
  return options;
}

class TileHidden : public ::testing::TestWithParam<Case> {};

TEST_P(TileHidden, ComputesTheSame) {
  Program program(forwardOf(GetParam().body));
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  ASSERT_TRUE(succeeded(program.run(createDifferentiate())))
      << program.diagnostics();
  nn::ProgramOp whole = program.function(kMicroFunction).clone();
  whole.setName("whole");
  program.getModule().push_back(whole);
  ASSERT_TRUE(succeeded(program.run(createTileHidden(threeTiles()))))
      << program.diagnostics();
  ASSERT_TRUE(succeeded(program.run(createCanonicalizerPass())));
  nn::ProgramOp tiled = program.function(kMicroFunction);
  // Tiles have 64 rows of 40, or of 80 before they are halved.
  EXPECT_EQ(largest(tiled) < kRows * kWide, GetParam().tiled) << program.text();
  if (!GetParam().tiled) {
    return; // its text is as it was
  }
  std::vector<Tensor> arguments;
  for (auto [i, type] : llvm::enumerate(whole.getArgumentTypes())) {
    arguments.push_back(randomTensor(type, i + 1, -1, 1));
  }
  std::vector<Tensor> before = evaluate(whole, arguments);
  std::vector<Tensor> after = evaluate(tiled, arguments);
  ASSERT_EQ(before.size(), after.size());
  for (auto [a, b] : llvm::zip(before, after)) {
    ASSERT_EQ(a.type(), b.type());
    for (auto [x, y] : llvm::zip(a.values, b.values)) {
      EXPECT_NEAR(x, y, 1e-12 * (1 + std::fabs(x)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TileHidden, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

/// Returns how many rows the first tile of a layer has, or the layer, which is
/// made of rows of `depth`.
int64_t rowsOfTile(int64_t rows, int64_t columns, int64_t depth = 1) {
  std::string n = std::to_string(rows), c = std::to_string(columns);
  std::string d = std::to_string(depth);
  std::string wide = "tensor<" + n + "x" + c + "xf32>";
  std::string narrow = "tensor<" + n + "x" + d + "xf32>";
  std::string weight = "tensor<" + d + "x" + c + "xf32>";
  Program program(
      "nn.program @forward(%x: " + narrow + ", %w: " + weight +
      " {nn.parameter = #nn.parameter<\"w\", module = \"\", trainable = "
      "true, init = normal>}) -> (tensor<f32> {nn.output = \"loss\"}) {\n"
      "  %h = nn.matmul %x, %w : " +
      narrow + ", " + weight + " -> " + wide + "\n  %t = nn.unary tanh %h : " +
      wide + " -> " + wide + "\n  %s = nn.reduce sum %t [0, 1] : " + wide +
      " -> tensor<1x1xf32> loc(\"sum\")\n"
      "  %l = nn.reshape %s : tensor<1x1xf32> -> tensor<f32>\n"
      "  nn.return %l : tensor<f32>\n}");
  EXPECT_TRUE(program.ok()) << program.diagnostics();
  EXPECT_TRUE(succeeded(program.run(createDifferentiate())))
      << program.diagnostics();
  EXPECT_TRUE(succeeded(program.run(createTileHidden())));
  nn::ProgramOp micro = program.function(kMicroFunction);
  return shapeOf(*micro.getOps<MatmulOp>().begin()).front();
}

/// docs/memory.md says so.
TEST(TileHiddenOf, TilesFollowFromTheShape) {
  EXPECT_EQ(rowsOfTile(8192, 8192), 8192) << "2^26 numbers are one tile";
  EXPECT_EQ(rowsOfTile(16383, 8192), 16383) << "and so are fewer than 2^27";
  EXPECT_EQ(rowsOfTile(16384, 8192), 8192);
  EXPECT_EQ(rowsOfTile(1 << 20, 8192), 1 << 16) << "at most 16";
  EXPECT_EQ(rowsOfTile(64, 1 << 22), 64) << "of 64 rows at least";
  EXPECT_EQ(rowsOfTile(16384, 16384, 8192), 4096)
      << "a gradient of weights is large, and has no rows";
}

} // namespace
