//===- RowsTest.cpp - kernels of the rows form ----------------------------===//

#include "tests/codegen/KernelRun.h"
#include "gtest/gtest.h"

using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

std::string replaceAll(std::string text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

const char *kSoftmax = R"(
nn.program @f(%x: tensor<RxCxf32>) -> tensor<RxCxf32> {
  %0 = nn.kernel rows (%a = %x) : (tensor<RxCxf32>) -> tensor<RxCxf32> {
    %max = nn.reduce max %a [1] : tensor<RxCxf32> -> tensor<Rx1xf32>
    %m = nn.broadcast %max : tensor<Rx1xf32> -> tensor<RxCxf32>
    %s = nn.binary sub %a, %m : tensor<RxCxf32>
    %e = nn.unary exp %s : tensor<RxCxf32> -> tensor<RxCxf32>
    %sum = nn.reduce sum %e [1] : tensor<RxCxf32> -> tensor<Rx1xf32>
    %r = nn.unary reciprocal %sum : tensor<Rx1xf32> -> tensor<Rx1xf32>
    %b = nn.broadcast %r : tensor<Rx1xf32> -> tensor<RxCxf32>
    %y = nn.binary mul %e, %b : tensor<RxCxf32>
    nn.yield %y : tensor<RxCxf32>
  }
  nn.return %0 : tensor<RxCxf32>
})";

std::string shaped(const char *text, int rows, int cols) {
  return replaceAll(
      replaceAll(text, "<RxC",
                 "<" + std::to_string(rows) + "x" + std::to_string(cols)),
      "<Rx1", "<" + std::to_string(rows) + "x1");
}

TEST(Rows, Softmax) {
  for (int cols : {1, 2, 15, 16, 17, 63, 64, 65, 67, 128, 200, 1000}) {
    expectMatchesInterpreter(shaped(kSoftmax, 5, cols));
  }
}

TEST(Rows, SoftmaxOfRowsTooLongToKeep) {
  expectMatchesInterpreter(shaped(kSoftmax, 3, 20001));
}

TEST(Rows, SoftmaxInPlaceHasTheSameBits) {
  CompiledKernel kernel(shaped(kSoftmax, 7, 131));
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
  Bytes x = toBytes(kernel.randomArguments(3)[0]);
  EXPECT_EQ(kernel.run({x})[0], kernel.runInPlace({x}, 0));
}

const char *kLayerNorm = R"(
nn.program @f(%x: tensor<RxCxf32>, %g: tensor<Cxf32>, %b: tensor<Cxf32>) {
  %0:3 = nn.kernel rows (%a = %x, %s = %g, %t = %b) : (tensor<RxCxf32>, tensor<Cxf32>, tensor<Cxf32>) -> (tensor<RxCxf32>, tensor<Rx1xf32>, tensor<Rx1xf32>) {
    %n = nn.constant dense<COUNT.0> : tensor<Rx1xf32>
    %eps = nn.constant dense<1.0e-5> : tensor<Rx1xf32>
    %sum = nn.reduce sum %a [1] : tensor<RxCxf32> -> tensor<Rx1xf32>
    %mean = nn.binary div %sum, %n : tensor<Rx1xf32>
    %mb = nn.broadcast %mean : tensor<Rx1xf32> -> tensor<RxCxf32>
    %c = nn.binary sub %a, %mb : tensor<RxCxf32>
    %q = nn.binary mul %c, %c : tensor<RxCxf32>
    %v = nn.reduce sum %q [1] : tensor<RxCxf32> -> tensor<Rx1xf32>
    %var = nn.binary div %v, %n : tensor<Rx1xf32>
    %ve = nn.binary add %var, %eps : tensor<Rx1xf32>
    %sd = nn.unary sqrt %ve : tensor<Rx1xf32> -> tensor<Rx1xf32>
    %rstd = nn.unary reciprocal %sd : tensor<Rx1xf32> -> tensor<Rx1xf32>
    %rb = nn.broadcast %rstd : tensor<Rx1xf32> -> tensor<RxCxf32>
    %h = nn.binary mul %c, %rb : tensor<RxCxf32>
    %g1 = nn.reshape %s : tensor<Cxf32> -> tensor<1xCxf32>
    %g2 = nn.broadcast %g1 : tensor<1xCxf32> -> tensor<RxCxf32>
    %b1 = nn.reshape %t : tensor<Cxf32> -> tensor<1xCxf32>
    %b2 = nn.broadcast %b1 : tensor<1xCxf32> -> tensor<RxCxf32>
    %hg = nn.binary mul %h, %g2 : tensor<RxCxf32>
    %y = nn.binary add %hg, %b2 : tensor<RxCxf32>
    nn.yield %y, %mean, %rstd : tensor<RxCxf32>, tensor<Rx1xf32>, tensor<Rx1xf32>
  }
  nn.return
})";

TEST(Rows, LayerNormWithStatistics) {
  for (int cols : {3, 32, 96, 133}) {
    std::string text =
        replaceAll(kLayerNorm, "<Cx", "<" + std::to_string(cols) + "x");
    text = replaceAll(text, "<1xC", "<1x" + std::to_string(cols));
    text = replaceAll(text, "COUNT", std::to_string(cols));
    expectMatchesInterpreter(shaped(text.c_str(), 6, cols), 1e-5);
  }
}

// Rows without what they begin with, and what they begin with: no sum of the
// row is needed for either.
const char *kFirstOfRows = R"(
nn.program @f(%x: tensor<RxCxf32>) {
  %0:2 = nn.kernel rows (%a = %x) : (tensor<RxCxf32>) -> (tensor<RxCxf32>, tensor<Rx1xf32>) {
    %e = nn.unary neg %a : tensor<RxCxf32> -> tensor<RxCxf32>
    %first = nn.slice %e [0, 0] step [1, 1] : tensor<RxCxf32> -> tensor<Rx1xf32>
    %rows = nn.broadcast %first : tensor<Rx1xf32> -> tensor<RxCxf32>
    %d = nn.binary sub %e, %rows : tensor<RxCxf32>
    nn.yield %d, %first : tensor<RxCxf32>, tensor<Rx1xf32>
  }
  nn.return
})";

TEST(Rows, WhatTheyBeginWith) {
  for (int cols : {2, 32, 133, 5000}) {
    expectMatchesInterpreter(shaped(kFirstOfRows, 6, cols));
  }
}

// The loss reads the logit of the label by comparing with an iota.
const char *kCrossEntropy = R"(
nn.program @f(%x: tensor<RxCxf32>, %l: tensor<Rx1xi64>) {
  %0:2 = nn.kernel rows (%a = %x, %b = %l) : (tensor<RxCxf32>, tensor<Rx1xi64>) -> (tensor<Rx1xf32>, tensor<Rx1xf32>) {
    %max = nn.reduce max %a [1] : tensor<RxCxf32> -> tensor<Rx1xf32>
    %m = nn.broadcast %max : tensor<Rx1xf32> -> tensor<RxCxf32>
    %s = nn.binary sub %a, %m : tensor<RxCxf32>
    %e = nn.unary exp %s : tensor<RxCxf32> -> tensor<RxCxf32>
    %sum = nn.reduce sum %e [1] : tensor<RxCxf32> -> tensor<Rx1xf32>
    %log = nn.unary log %sum : tensor<Rx1xf32> -> tensor<Rx1xf32>
    %lse = nn.binary add %max, %log : tensor<Rx1xf32>
    %i = nn.iota 1 : tensor<RxCxi64>
    %lb = nn.broadcast %b : tensor<Rx1xi64> -> tensor<RxCxi64>
    %hit = nn.compare eq %i, %lb : tensor<RxCxi64> -> tensor<RxCxi1>
    %zero = nn.constant dense<0.0> : tensor<RxCxf32>
    %at = nn.select %hit, %a, %zero : tensor<RxCxi1>, tensor<RxCxf32>
    %xl = nn.reduce sum %at [1] : tensor<RxCxf32> -> tensor<Rx1xf32>
    %loss = nn.binary sub %lse, %xl : tensor<Rx1xf32>
    nn.yield %loss, %lse : tensor<Rx1xf32>, tensor<Rx1xf32>
  }
  nn.return
})";

TEST(Rows, CrossEntropy) {
  for (int cols : {3, 50, 1003}) {
    expectMatchesInterpreter(shaped(kCrossEntropy, 9, cols));
  }
}

// Everything merges into one dimension, which is then split anywhere; `%lr` is
// read once.
TEST(Rows, ElementwiseOverFlatRanges) {
  std::string text = R"(
nn.program @f(%p: tensor<7x11xf32>, %g: tensor<77xf32>, %s: tensor<f32>) {
  %0 = nn.kernel rows (%a = %p, %b = %g, %lr = %s) : (tensor<7x11xf32>, tensor<77xf32>, tensor<f32>) -> tensor<7x11xf32> {
    %g2 = nn.reshape %b : tensor<77xf32> -> tensor<7x11xf32>
    %one = nn.constant dense<1.0> : tensor<f32>
    %l2 = nn.binary add %lr, %one : tensor<f32>
    %l3 = nn.reshape %l2 : tensor<f32> -> tensor<1x1xf32>
    %l4 = nn.broadcast %l3 : tensor<1x1xf32> -> tensor<7x11xf32>
    %u = nn.binary mul %g2, %l4 : tensor<7x11xf32>
    %y = nn.binary sub %a, %u : tensor<7x11xf32>
    nn.yield %y : tensor<7x11xf32>
  }
  nn.return
})";
  expectMatchesInterpreter(text);
  CompiledKernel kernel(text);
  ASSERT_TRUE(kernel.ok());
  EXPECT_EQ(kernel.info().extent, 77);
}

// One kernel that computes all in one go gives the bits of three kernels in a
// row.
TEST(Rows, FusionDoesNotChangeBits) {
  std::string t = "tensor<9x75xf32>";
  auto kernelOf = [&](const std::string &lines) {
    return "nn.program @f(%x: " + t + ", %y: " + t +
           ") {\n %0 = nn.kernel rows (%a = %x, %b = %y) : (" + t + ", " + t +
           ") -> " + t + " {\n" + lines + " nn.yield %r : " + t +
           "\n }\n nn.return\n}";
  };
  auto mul = [&](const char *to, const char *x, const char *y) {
    return std::string("%") + to + " = nn.binary mul %" + x + ", %" + y +
           " : " + t + "\n";
  };
  auto add = [&](const char *to, const char *x, const char *y) {
    return std::string("%") + to + " = nn.binary add %" + x + ", %" + y +
           " : " + t + "\n";
  };
  auto tanh = [&](const char *to, const char *x) {
    return std::string("%") + to + " = nn.unary tanh %" + x + " : " + t +
           " -> " + t + "\n";
  };
  CompiledKernel fused(
      kernelOf(mul("p", "a", "b") + add("q", "p", "a") + tanh("r", "q")));
  CompiledKernel first(kernelOf(mul("r", "a", "b")));
  CompiledKernel second(kernelOf(add("r", "a", "b")));
  CompiledKernel third(kernelOf(tanh("r", "a")));
  ASSERT_TRUE(fused.ok() && first.ok() && second.ok() && third.ok());
  std::vector<Tensor> arguments = fused.randomArguments(5);
  Bytes x = toBytes(arguments[0]), y = toBytes(arguments[1]);
  Bytes p = first.run({x, y})[0];
  Bytes q = second.run({p, x})[0];
  EXPECT_EQ(fused.run({x, y})[0], third.run({q, x})[0]);
}

// A division of the row, computed once as a scalar, has the bits it has on
// sixteen lanes.
TEST(Rows, RowValuesHaveTheBitsOfLanes) {
  auto text = [](const std::string &shape) {
    std::string t = "tensor<8x" + shape + "xf32>", w = "tensor<8x40xf32>";
    return "nn.program @f(%x: " + t +
           ") {\n %0 = nn.kernel rows (%a = %x) : (" + t + ") -> " + w +
           " {\n %e = nn.unary exp %a : " + t + " -> " + t +
           "\n %t = nn.unary tanh %e : " + t + " -> " + t +
           "\n %l = nn.unary log %t : " + t + " -> " + t +
           "\n %r = nn.broadcast %l : " + t + " -> " + w +
           "\n nn.yield %r : " + w + "\n }\n nn.return\n}";
  };
  CompiledKernel scalar(text("1")), lanes(text("40"));
  ASSERT_TRUE(scalar.ok() && lanes.ok())
      << scalar.diagnostics() << lanes.diagnostics();
  std::vector<Tensor> narrow = scalar.randomArguments(2);
  std::vector<Tensor> wide = lanes.randomArguments(2);
  for (int i = 0; i < 320; ++i) {
    wide[0].values[i] = narrow[0].values[i / 40];
  }
  EXPECT_EQ(scalar.run({toBytes(narrow[0])})[0],
            lanes.run({toBytes(wide[0])})[0]);
}

} // namespace
