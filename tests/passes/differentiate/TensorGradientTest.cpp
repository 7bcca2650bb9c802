//===- TensorGradientTest.cpp - rules of shapes, sums and products --------===//

#include "tests/passes/differentiate/GradientCase.h"

#include <gtest/gtest.h>

using namespace mlir::zg::testing;

namespace {

GradientCase one(const char *name, const char *from, const char *to,
                 const char *op) {
  return {name,
          {{"x", from}},
          std::string("%y = nn.") + op + " : tensor<" + from + "> -> tensor<" +
              to + ">",
          {{"%y", to}}};
}

GradientCase cumsum(const char *name, const char *flags) {
  return {std::string("cumsum_") + name,
          {{"x", "2x4x3xf64"}},
          std::string("%y = nn.cumsum %x dim 1 ") + flags +
              " : tensor<2x4x3xf64>",
          {{"%y", "2x4x3xf64"}}};
}

/// Windows along the middle dimension of 9 elements.
GradientCase pool(const char *name, bool isMax, const char *attributes,
                  int64_t windows) {
  std::string type = "2x" + std::to_string(windows) + "x3x";
  std::string text =
      isMax ? "%y, %at = nn.pool max %x dim 1 " : "%y = nn.pool sum %x dim 1 ";
  return {std::string(isMax ? "pool_max_" : "pool_sum_") + name,
          {{"x", "2x9x3xf64"}},
          text + attributes + " : tensor<2x9x3xf64> -> tensor<" + type +
              (isMax ? "f64>, tensor<" + type + "i8>" : "f64>"),
          {{"%y", type + "f64"}}};
}

GradientCase matmul(const char *name, const char *aType, const char *bType,
                    const char *flags) {
  return {std::string("matmul_") + name,
          {{"a", aType}, {"b", bType}},
          std::string("%y = nn.matmul %a, %b ") + flags + " : tensor<" + aType +
              ">, tensor<" + bType + "> -> tensor<2x3x5xf64>",
          {{"%y", "2x3x5xf64"}}};
}

/// One kind of a convolution with everything uneven.
GradientCase convolution(const char *kind, const char *lhs, const char *rhs,
                         const char *result) {
  return {std::string("convolution_") + kind,
          {{"a", lhs}, {"b", rhs}},
          std::string("%y = nn.convolution ") + kind +
              " %a, %b strides [2, 1] low [1, 0] dilations [1, 2] groups 2 : "
              "tensor<" +
              lhs + ">, tensor<" + rhs + "> -> tensor<" + result + ">",
          {{"%y", result}}};
}

/// Several rows for some places of the table, none for others.
GradientCase scatter(const char *kind) {
  return {
      std::string("scatter_into_") + kind,
      {{"ids", "2x4xi32", -2, 7}, {"rows", "2x4x3xf64"}, {"table", "5x3xf64"}},
      std::string("%y = nn.scatter ") + kind +
          " %ids, %rows into %table : tensor<2x4xi32>, tensor<2x4x3xf64> "
          "-> tensor<5x3xf64>",
      {{"%y", "5x3xf64"}}};
}

const GradientCase kCases[] = {
    one("broadcast", "1x3x1xf64", "2x3x4xf64", "broadcast %x"),
    one("broadcast_nothing", "2x3xf64", "2x3xf64", "broadcast %x"),
    one("reshape", "2x3xf64", "6xf64", "reshape %x"),
    one("transpose", "2x3x4xf64", "4x2x3xf64", "transpose %x [2, 0, 1]"),
    one("slice", "4x5xf64", "2x3xf64", "slice %x [1, 2] step [1, 1]"),
    one("slice_steps", "7x8xf64", "3x3xf64", "slice %x [0, 1] step [3, 2]"),
    one("slice_backwards", "5x7xf64", "5x3xf64",
        "slice %x [4, 6] step [-1, -3]"),
    one("slice_one_of_many", "7xf64", "1xf64", "slice %x [5] step [4]"),
    one("pad", "2x3xf64", "4x5xf64", "pad %x [1, 0] value 2.0 : f64"),
    {"concat",
     {{"a", "2x3xf64"}, {"b", "2x1xf64"}, {"c", "2x2xf64"}},
     "%y = nn.concat %a, %b, %c dim 1 : tensor<2x3xf64>, tensor<2x1xf64>, "
     "tensor<2x2xf64> -> tensor<2x6xf64>",
     {{"%y", "2x6xf64"}}},
    one("sum", "2x3x4xf64", "2x1x4xf64", "reduce sum %x [1]"),
    one("sum_apart", "2x3x4xf64", "1x3x1xf64", "reduce sum %x [0, 2]"),
    one("sum_all", "2x3xf64", "1x1xf64", "reduce sum %x [0, 1]"),
    one("max", "2x3x4xf64", "2x1x4xf64", "reduce max %x [1]"),
    one("min", "2x3x4xf64", "1x3x1xf64", "reduce min %x [0, 2]"),
    one("prod", "2x3xf64", "2x1xf64", "reduce prod %x [1]"),
    cumsum("forward", ""),
    cumsum("exclusive", "exclusive"),
    cumsum("reverse", "reverse"),
    cumsum("exclusive_reverse", "exclusive reverse"),
    pool("apart", true, "window 3 stride 3 dilation 1 low 0", 3),
    pool("apart", false, "window 3 stride 3 dilation 1 low 0", 3),
    pool("overlapping", true, "window 3 stride 2 dilation 1 low 1", 5),
    pool("overlapping", false, "window 3 stride 2 dilation 1 low 1", 5),
    pool("uneven", true, "window 4 stride 3 dilation 1 low 2", 3),
    pool("uneven", false, "window 4 stride 3 dilation 1 low 2", 3),
    pool("gaps", true, "window 2 stride 4 dilation 1 low 1", 3),
    pool("gaps", false, "window 2 stride 4 dilation 1 low 1", 3),
    pool("far_dilated", true, "window 2 stride 1 dilation 7 low 0", 2),
    pool("far_dilated", false, "window 2 stride 1 dilation 7 low 0", 2),
    pool("dilated", true, "window 3 stride 2 dilation 3 low 2", 4),
    pool("dilated", false, "window 3 stride 2 dilation 3 low 2", 4),
    pool("everywhere", true, "window 5 stride 1 dilation 1 low 2", 9),
    pool("everywhere", false, "window 5 stride 1 dilation 1 low 2", 9),
    pool("border", false, "window 2 stride 4 dilation 1 low 4", 5),
    pool("longer", false, "window 3 stride 20 dilation 1 low 13", 2),
    pool("one", true, "window 7 stride 50 dilation 1 low 1", 1),
    pool("one", false, "window 7 stride 50 dilation 1 low 1", 1),
    matmul("plain", "2x3x4xf64", "2x4x5xf64", ""),
    matmul("transpose_a", "2x4x3xf64", "2x4x5xf64", "transpose_a"),
    matmul("transpose_b", "2x3x4xf64", "2x5x4xf64", "transpose_b"),
    matmul("transpose_both", "2x4x3xf64", "2x5x4xf64",
           "transpose_a transpose_b"),
    convolution("forward", "2x4x5x6xf64", "6x2x3x2xf64", "2x6x3x4xf64"),
    convolution("input", "2x6x3x4xf64", "6x2x3x2xf64", "2x4x5x6xf64"),
    convolution("weights", "2x4x5x6xf64", "2x6x3x4xf64", "6x2x3x2xf64"),
    // Indices outside the table are clamped, in both directions.
    {"gather",
     {{"table", "5x3xf64"}, {"ids", "2x4xi64", -2, 7}},
     "%y = nn.gather %table, %ids : tensor<5x3xf64>, tensor<2x4xi64> -> "
     "tensor<2x4x3xf64>",
     {{"%y", "2x4x3xf64"}}},
    {"scatter_sum",
     {{"ids", "2x4xi32", -2, 7}, {"rows", "2x4x3xf64"}},
     "%y = nn.scatter sum %ids, %rows : tensor<2x4xi32>, tensor<2x4x3xf64> -> "
     "tensor<5x3xf64>",
     {{"%y", "5x3xf64"}}},
    scatter("sum"),
    scatter("max"),
    scatter("min"),
    scatter("prod"),
    scatter("set"),
    // In rows 0 to 3 two are equal: half of the difference is each one's.
    {"scatter_max_ties",
     {{"rows", "4x3xf64", 0.5, 0.5}, {"table", "5x3xf64", 0.5, 0.5}},
     "%ids = nn.iota 0 : tensor<4xi64>\n"
     "%y = nn.scatter max %ids, %rows into %table : tensor<4xi64>, "
     "tensor<4x3xf64> -> tensor<5x3xf64>",
     {{"%y", "5x3xf64"}}},
    // Products of one zero and of several, from the rows and the table.
    {"scatter_prod_zeros",
     {{"ids", "9xi64", 0, 7},
      {"zeros", "2x3xf64", 0, 0},
      {"others", "7x3xf64"},
      {"first", "2x3xf64", 0, 0},
      {"last", "5x3xf64"}},
     "%rows = nn.concat %zeros, %others dim 0 : tensor<2x3xf64>, "
     "tensor<7x3xf64> -> tensor<9x3xf64>\n"
     "%table = nn.concat %first, %last dim 0 : tensor<2x3xf64>, "
     "tensor<5x3xf64> -> tensor<7x3xf64>\n"
     "%y = nn.scatter prod %ids, %rows into %table : tensor<9xi64>, "
     "tensor<9x3xf64> -> tensor<7x3xf64>",
     {{"%y", "7x3xf64"}}},
};

class TensorGradient : public ::testing::TestWithParam<GradientCase> {};

TEST_P(TensorGradient, AgreesWithCentralDifferences) {
  checkGradients(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Rules, TensorGradient, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

} // namespace
