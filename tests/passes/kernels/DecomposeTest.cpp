//===- DecomposeTest.cpp - decomposition keeps every value ----------------===//

#include "passes/kernels/Passes.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

std::string tensorText(ArrayRef<int64_t> shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape) {
    text += std::to_string(size) + "x";
  }
  return text + element + ">";
}

std::string listText(ArrayRef<int64_t> numbers) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(numbers, stream);
  stream << "]";
  return text;
}

/// The forms of reduction that Passes.td promises.
void expectCoreOnly(nn::ProgramOp func, bool transposes) {
  func.walk([&](Operation *op) {
    EXPECT_FALSE(
        (isa<CompositeOpInterface, ConcatOp, ConvolutionOp, PoolOp>(op)) ||
        (!transposes && isa<TransposeOp>(op)))
        << op->getName().getStringRef().str();
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      size_t rank = reduce.getOperand().getType().getRank();
      ASSERT_EQ(reduce.getDims().size(), 1u);
      EXPECT_TRUE(rank == 2 || (rank == 3 && reduce.getDims()[0] == 1))
          << rank << " " << reduce.getDims()[0];
    }
  });
}

/// Runs @f before and after decomposition on random arguments.
void expectSame(const std::string &text, double tolerance,
                bool transposes = false) {
  SCOPED_TRACE(text);
  Program program(text);
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  nn::ProgramOp func = program.function("f");
  std::vector<Tensor> arguments;
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
    arguments.push_back(randomTensor(type, i + 1, -2, 2));
  }
  std::vector<Tensor> before = evaluate(func, arguments);
  ASSERT_TRUE(succeeded(program.run(createDecompose())))
      << program.diagnostics();
  expectCoreOnly(func, transposes);
  std::vector<Tensor> after = evaluate(func, arguments);
  ASSERT_EQ(before.size(), after.size());
  for (auto [a, b] : llvm::zip(before, after)) {
    ASSERT_EQ(a.type(), b.type());
    for (auto [x, y] : llvm::zip(a.values, b.values)) {
      EXPECT_NEAR(x, y, tolerance * (1 + std::fabs(x)));
    }
  }
}

/// Programs with a and b in one sum, with b and a whose limbs are added, and
/// with b and the blocks of a.
constexpr const char *kSumsOfSquares = R"(
  nn.program @f(%a: tensor<512xf64>, %b: tensor<256xf64>)
      -> (tensor<1xf64>, tensor<1xf64>, tensor<2xf64>) {
    %both = nn.sum_squares %a, %b
        : tensor<512xf64>, tensor<256xf64> -> tensor<33xf64>
    %x = nn.limb_value %both : tensor<33xf64> -> tensor<1xf64>
    %of_b = nn.sum_squares %b : tensor<256xf64> -> tensor<33xf64>
    %of_a = nn.sum_squares %a : tensor<512xf64> -> tensor<33xf64>
    %sum = nn.binary add %of_b, %of_a : tensor<33xf64>
    %y = nn.limb_value %sum : tensor<33xf64> -> tensor<1xf64>
    %blocks = nn.block_squares %a : tensor<512xf64> -> tensor<2x33xf64>
    %one = nn.iota 0 : tensor<2xi64>
    %zero = nn.binary sub %one, %one : tensor<2xi64>
    %added = nn.scatter sum %zero, %blocks
        : tensor<2xi64>, tensor<2x33xf64> -> tensor<1x33xf64>
    %row = nn.reshape %of_b : tensor<33xf64> -> tensor<1x33xf64>
    %all = nn.binary add %added, %row : tensor<1x33xf64>
    %rows = nn.concat %all, %row dim 0
        : tensor<1x33xf64>, tensor<1x33xf64> -> tensor<2x33xf64>
    %z = nn.limb_value %rows : tensor<2x33xf64> -> tensor<2xf64>
    nn.return %x, %y, %z : tensor<1xf64>, tensor<1xf64>, tensor<2xf64>
  })";

/// Numbers of all sizes that float32 has, in any order.
TEST(Decompose, SumsOfSquaresAreExact) {
  Program program(kSumsOfSquares);
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  nn::ProgramOp func = program.function("f");
  ASSERT_TRUE(succeeded(program.run(createDecompose())))
      << program.diagnostics();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<Tensor> arguments;
    long double expected = 0;
    for (Type type : func.getArgumentTypes()) {
      Tensor &tensor = arguments.emplace_back(
          randomTensor(type, seed + 100 * arguments.size(), -2, 2));
      for (auto [i, value] : llvm::enumerate(tensor.values)) {
        value = std::ldexp(value, int((i * 37 + seed * 11) % 250) - 130);
        expected += static_cast<long double>(value) * value;
      }
    }
    std::vector<Tensor> sums = evaluate(func, arguments);
    EXPECT_EQ(sums[0].values[0], sums[1].values[0]) << seed;
    EXPECT_EQ(sums[0].values[0], sums[2].values[0]) << seed;
    EXPECT_LT(sums[2].values[1], sums[2].values[0]) << seed;
    EXPECT_NEAR(sums[0].values[0] / expected, 1, 1e-14) << seed;
    for (double bad : {double(NAN), double(INFINITY), 1e60}) {
      arguments[0].values[300] = bad;
      std::vector<Tensor> infinite = evaluate(func, arguments);
      EXPECT_EQ(infinite[1].values[0], INFINITY) << bad;
      EXPECT_EQ(infinite[2].values[0], INFINITY) << bad;
      EXPECT_EQ(infinite[2].values[1], sums[2].values[1]) << bad;
    }
  }
}

/// Every subset of dimensions, with sizes of 1 at every place.
TEST(Decompose, EveryReductionTakesAForm) {
  std::vector<std::vector<int64_t>> shapes = {
      {},        {1},       {3},          {2, 3},       {1, 3},
      {2, 1},    {2, 3, 2}, {1, 3, 2},    {2, 1, 3},    {2, 3, 1},
      {1, 3, 1}, {1, 1, 1}, {2, 3, 2, 3}, {2, 1, 3, 2}, {2, 2, 2, 2, 2},
  };
  for (const std::vector<int64_t> &shape : shapes) {
    for (unsigned subset = 0; subset < 1u << shape.size(); ++subset) {
      std::vector<int64_t> dims, reduced = shape;
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        if (subset >> dim & 1) {
          dims.push_back(dim);
          reduced[dim] = 1;
        }
      }
      for (const char *kind : {"sum", "max", "prod"}) {
        std::string from = tensorText(shape, "f64");
        std::string to = tensorText(reduced, "f64");
        expectSame("nn.program @f(%x: " + from + ") -> " + to +
                       " {\n  %y = nn.reduce " + kind + " %x " +
                       listText(dims) + " : " + from + " -> " + to +
                       "\n  nn.return %y : " + to + "\n}",
                   1e-12);
      }
    }
  }
}

TEST(Decompose, Softmax) {
  for (const char *type : {"tensor<5xf64>", "tensor<2x5xf64>",
                           "tensor<2x3x2x5xf64>", "tensor<3x1xf64>"}) {
    std::string t = type;
    expectSame("nn.program @f(%x: " + t + ") -> " + t +
                   " {\n  %y = nn.softmax %x : " + t +
                   "\n  nn.return %y : " + t + "\n}",
               1e-12);
  }
}

TEST(Decompose, LayerNorm) {
  expectSame(R"(
nn.program @f(%x: tensor<2x3x5xf64>, %s: tensor<5xf64>, %b: tensor<5xf64>)
    -> (tensor<2x3x5xf64>, tensor<2x3x1xf64>, tensor<2x3x1xf64>) {
  %n:3 = nn.layer_norm %x, %s, %b epsilon 1.0e-5
      : tensor<2x3x5xf64>, tensor<5xf64> -> tensor<2x3x1xf64>, tensor<2x3x1xf64>
  nn.return %n#0, %n#1, %n#2
      : tensor<2x3x5xf64>, tensor<2x3x1xf64>, tensor<2x3x1xf64>
})",
             1e-12);
}

/// Labels are drawn from -2 to 1: the negative ones select nothing.
TEST(Decompose, SoftmaxCrossEntropy) {
  expectSame(R"(
nn.program @f(%x: tensor<6x2xf64>, %labels: tensor<6x1xi32>)
    -> (tensor<6x1xf64>, tensor<6x1xf64>, tensor<6x1xf64>) {
  %loss, %max, %log_sum = nn.softmax_cross_entropy %x, %labels
      : tensor<6x2xf64>, tensor<6x1xi32>
      -> tensor<6x1xf64>, tensor<6x1xf64>, tensor<6x1xf64>
  nn.return %loss, %max, %log_sum
      : tensor<6x1xf64>, tensor<6x1xf64>, tensor<6x1xf64>
})",
             1e-12);
}

TEST(Decompose, SoftmaxGrad) {
  expectSame(R"(
nn.program @f(%y: tensor<2x3x5xf64>, %dy: tensor<2x3x5xf64>)
    -> tensor<2x3x5xf64> {
  %dx = nn.softmax_grad %y, %dy : tensor<2x3x5xf64>
  nn.return %dx : tensor<2x3x5xf64>
})",
             1e-12);
}

TEST(Decompose, LayerNormGrad) {
  expectSame(R"(
nn.program @f(%x: tensor<2x3x5xf64>, %s: tensor<5xf64>, %m: tensor<2x3x1xf64>,
             %r: tensor<2x3x1xf64>, %dy: tensor<2x3x5xf64>)
    -> (tensor<2x3x5xf64>, tensor<5xf64>, tensor<5xf64>) {
  %d:3 = nn.layer_norm_grad %x, %s, %m, %r, %dy
      : tensor<2x3x5xf64>, tensor<5xf64>, tensor<2x3x1xf64>
  nn.return %d#0, %d#1, %d#2 : tensor<2x3x5xf64>, tensor<5xf64>, tensor<5xf64>
})",
             1e-12);
}

TEST(Decompose, SoftmaxCrossEntropyGrad) {
  for (std::string dlog_sum : {"", "and %dlog_sum : tensor<6x1xf64>"}) {
    expectSame(R"(
nn.program @f(%x: tensor<6x2xf64>, %labels: tensor<6x1xi32>,
             %max: tensor<6x1xf64>, %log_sum: tensor<6x1xf64>,
             %dloss: tensor<6x1xf64>, %dlog_sum: tensor<6x1xf64>)
    -> tensor<6x2xf64> {
  %dx = nn.softmax_cross_entropy_grad %x, %labels, %max, %log_sum, %dloss )" +
                   dlog_sum + R"(
      : tensor<6x2xf64>, tensor<6x1xi32>, tensor<6x1xf64>
  nn.return %dx : tensor<6x2xf64>
})",
               1e-12);
  }
}

/// A device with a softmax of its own, for numbers of 32 bits.
class KeepsSoftmax final : public PlainTargetInfo {
public:
  bool keeps(Composite composite, RankedTensorType type) const override {
    return composite == Composite::softmax && type.getElementType().isF32();
  }
};

TEST(Decompose, LeavesWhatTheTargetKeeps) {
  auto left = [](StringRef element) {
    std::string t = "tensor<2x5x" + element.str() + ">";
    Program program("nn.program @f(%x: " + t + ") -> (" + t + ", " + t +
                    ") {\n  %y = nn.softmax %x : " + t +
                    "\n  %dx = nn.softmax_grad %y, %x : " + t +
                    "\n  nn.return %y, %dx : " + t + ", " + t + "\n}");
    EXPECT_TRUE(program.ok()) << program.diagnostics();
    KeepsSoftmax target;
    EXPECT_TRUE(succeeded(program.run(createDecompose(target))));
    unsigned composites = 0;
    program.function("f").walk([&](CompositeOpInterface) { ++composites; });
    return composites;
  };
  EXPECT_EQ(left("f32"), 2u);
  EXPECT_EQ(left("f64"), 0u);
}

/// Moves elements only, so nothing may differ, whatever the type.
TEST(Decompose, Concat) {
  for (std::string element : {"f64", "f32", "i64", "i1", "ui8"}) {
    std::string a = tensorText({2, 3, 2}, element);
    std::string b = tensorText({2, 1, 2}, element);
    std::string c = tensorText({2, 2, 2}, element);
    std::string to = tensorText({2, 6, 2}, element);
    expectSame("nn.program @f(%a: " + a + ", %b: " + b + ", %c: " + c +
                   ") -> " + to +
                   " {\n  %y = nn.concat %a, %b, %c dim 1 : " + a + ", " + b +
                   ", " + c + " -> " + to + "\n  nn.return %y : " + to + "\n}",
               0);
  }
}

/// Windows along a dimension of 7; of small integers, so that many are equal.
TEST(Decompose, Pool) {
  for (std::string attributes : {"window 3 stride 2 dilation 1 low 1",
                                 "window 2 stride 2 dilation 3 low 2",
                                 "window 5 stride 1 dilation 1 low 4",
                                 "window 1 stride 2 dilation 1 low 0"}) {
    for (std::string element : {"f64", "f32", "i64", "i8"}) {
      std::string x = tensorText({2, 7, 3}, element);
      std::string y = tensorText({2, 4, 3}, element);
      std::string at = tensorText({2, 4, 3}, element == "f32" ? "i8" : "i32");
      std::string windows = " %x dim 1 " + attributes + " : " + x + " -> " + y;
      expectSame("nn.program @f(%x: " + x + ") -> (" + y + ", " + at + ", " +
                     y + ") {\n  %y:2 = nn.pool max" + windows + ", " + at +
                     "\n  %s = nn.pool sum" + windows +
                     "\n  nn.return %y#0, %y#1, %s : " + y + ", " + at + ", " +
                     y + "\n}",
                 1e-6);
    }
  }
}

/// A convolution's attributes, one number a place dim.
struct ConvolutionCase {
  std::vector<int64_t> input, weights; // [N, C, places...], [K, C/g, window...]
  std::vector<int64_t> strides, low, high, dilations;
  int64_t groups = 1;
};

std::string convolutionText(const ConvolutionCase &c, const char *kind) {
  std::vector<int64_t> output = {c.input[0], c.weights[0]};
  for (size_t i = 0; i < c.strides.size(); ++i) {
    int64_t window = (c.weights[i + 2] - 1) * c.dilations[i] + 1;
    int64_t room = c.input[i + 2] + c.low[i] + c.high[i] - window;
    output.push_back(room / c.strides[i] + 1);
  }
  std::string x = tensorText(c.input, "f64"), w = tensorText(c.weights, "f64");
  std::string y = tensorText(output, "f64");
  std::string lhs = kind == std::string("input") ? y : x;
  std::string rhs = kind == std::string("weights") ? y : w;
  std::string to = kind == std::string("forward") ? y
                   : kind == std::string("input") ? x
                                                  : w;
  return "nn.program @f(%a: " + lhs + ", %b: " + rhs + ") -> " + to +
         " {\n  %r = nn.convolution " + kind + " %a, %b strides " +
         listText(c.strides) + " low " + listText(c.low) + " dilations " +
         listText(c.dilations) + " groups " + std::to_string(c.groups) + " : " +
         lhs + ", " + rhs + " -> " + to + "\n  nn.return %r : " + to + "\n}";
}

TEST(Decompose, Convolution) {
  const ConvolutionCase cases[] = {
      {{2, 3, 8}, {4, 3, 3}, {1}, {1}, {1}, {1}},
      {{2, 3, 9, 7}, {4, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
      {{2, 4, 5, 6}, {6, 2, 3, 2}, {1, 2}, {1, 0}, {0, 3}, {1, 2}, 2},
      // A group a channel; and rows that no window sees.
      {{3, 4, 7, 8}, {4, 1, 2, 2}, {3, 3}, {0, 0}, {0, 0}, {1, 1}, 4},
      // Single places, also all of them; and windows within the border.
      {{2, 5, 4, 4}, {3, 5, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
      {{2, 5, 4, 4}, {3, 5, 4, 4}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
      {{1, 2, 3, 3}, {2, 2, 2, 1}, {9, 1}, {4, 2}, {0, 1}, {1, 1}},
      {{1, 2, 3, 4, 5},
       {3, 2, 2, 2, 2},
       {1, 2, 1},
       {1, 0, 1},
       {0, 1, 0},
       {1, 1, 3}},
  };
  for (const ConvolutionCase &c : cases) {
    for (const char *kind : {"forward", "input", "weights"}) {
      expectSame(convolutionText(c, kind), 1e-12, /*transposes=*/true);
    }
  }
}

/// The plain device has those of f32.
TEST(Decompose, LeavesConvolutionsOfTheLibrary) {
  std::string text =
      convolutionText({{2, 3, 8}, {4, 3, 3}, {1}, {1}, {1}, {1}}, "forward");
  for (size_t at; (at = text.find("f64")) != std::string::npos;) {
    text.replace(at, 3, "f32");
  }
  Program program(text);
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  ASSERT_TRUE(succeeded(program.run(createDecompose())));
  unsigned left = 0;
  program.function("f").walk([&](ConvolutionOp) { ++left; });
  EXPECT_EQ(left, 1u);
}

} // namespace
