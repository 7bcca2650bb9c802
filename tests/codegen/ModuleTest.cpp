//===- ModuleTest.cpp - kernel modules, and the precision of functions ----===//

#include "tests/codegen/KernelRun.h"
#include "tests/support/Says.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <functional>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;
using zerograph::expectSays;

namespace {

std::string unary(const std::string &kind, int n, const std::string &element) {
  std::string type = "tensor<" + std::to_string(n) + "x" + element + ">";
  return "nn.program @f(%x: " + type +
         ") {\n  %0 = nn.kernel rows (%a = %x) "
         ": (" +
         type + ") -> " + type + " {\n    %1 = nn.unary " + kind +
         " %a : " + type + " -> " + type + "\n    nn.yield %1 : " + type +
         "\n  }\n  nn.return\n}";
}

TEST(Module, BytesAreDeterministic) {
  CompiledKernel one(unary("tanh", 100, "f32"));
  CompiledKernel two(unary("tanh", 100, "f32"));
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one.elf(), two.elf());
}

TEST(Module, RefusesUnknownTargets) {
  std::string error;
  EXPECT_TRUE(failed(parseHostTarget("x86-64-v2", error)));
  expectSays(error, "x86-64-v3");
}

TEST(Module, GeneratedMatmul) {
  for (std::string element : {"f32", "f64"}) {
    for (std::string flags :
         {"", " transpose_a", " transpose_b", " transpose_a transpose_b",
          " into %c : tensor<2x5x83x"}) {
      bool ta = flags.find("_a") != std::string::npos;
      bool tb = flags.find("_b") != std::string::npos;
      std::string a = ta ? "tensor<2x9x5x" : "tensor<2x5x9x";
      std::string b = tb ? "tensor<2x83x9x" : "tensor<2x9x83x";
      bool into = flags.find("into") != std::string::npos;
      std::string text =
          "nn.program @f(%a: " + a + element + ">, %b: " + b + element +
          ">, %c: tensor<2x5x83x" + element + ">) -> tensor<2x5x83x" + element +
          "> {\n %0 = nn.matmul %a, %b" + flags + (into ? element + ">" : "") +
          " : " + a + element + ">, " + b + element + "> -> tensor<2x5x83x" +
          element + ">\n nn.return %0 : tensor<2x5x83x" + element + ">\n}";
      Program program(text);
      ASSERT_TRUE(program.ok()) << program.diagnostics();
      nn::MatmulOp matmul;
      program.getModule().walk([&](nn::MatmulOp op) { matmul = op; });
      KernelModuleBuilder builder(program.getContext(),
                                  *parseHostTarget("native"));
      KernelInfo info = *builder.add(matmul);
      Library library(*builder.finish());
      Tensor x = randomTensor(matmul.getLhs().getType(), 1, -1, 1);
      Tensor y = randomTensor(matmul.getRhs().getType(), 2, -1, 1);
      Tensor z = randomTensor(matmul.getType(), 3, -1, 1);
      Tensor expected = evaluate(program.function("f"), {x, y, z})[0];
      Bytes xb = toBytes(x), yb = toBytes(y), rb = toBytes(z);
      std::vector<void *> buffers = {xb.data(), yb.data(), rb.data()};
      if (into) {
        buffers.push_back(rb.data()); // in place
      }
      library.find(info.symbol)(buffers.data(), 0, 3);
      library.find(info.symbol)(buffers.data(), 3, info.extent);
      Tensor got = fromBytes(rb, cast<RankedTensorType>(matmul.getType()));
      for (size_t i = 0; i < got.values.size(); ++i) {
        ASSERT_NEAR(got.values[i], expected.values[i],
                    element == "f32" ? 2e-6 : 1e-14);
      }
    }
  }
}

/// The largest error of an f32 function over 2^20 arguments spread over
/// [low, high], in units in the last place.
double ulps(const std::string &kind, double low, double high,
            const std::function<double(double)> &exact) {
  constexpr int n = 1 << 20;
  CompiledKernel kernel(unary(kind, n, "f32"));
  EXPECT_TRUE(kernel.ok()) << kernel.diagnostics();
  std::vector<float> x(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<float>(low + (high - low) * i / (n - 1));
  }
  Bytes in(n * sizeof(float));
  std::memcpy(in.data(), x.data(), in.size());
  Bytes out = kernel.run(std::vector<Bytes>{in})[0];
  std::vector<float> y(n);
  std::memcpy(y.data(), out.data(), out.size());
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    double e = exact(x[i]);
    float rounded = static_cast<float>(e);
    if (std::abs(rounded) < 1.2e-38f || std::isinf(rounded)) {
      continue;
    }
    double ulp =
        std::nextafter(std::abs(rounded), INFINITY) - std::abs(rounded);
    worst = std::max(worst, std::abs(y[i] - e) / ulp);
  }
  ::testing::Test::RecordProperty(kind, std::to_string(worst));
  return worst;
}

TEST(Precision, F32FunctionsAreWithinTwoUlp) {
  EXPECT_LT(ulps("exp", -87, 88.7, [](double x) { return std::exp(x); }), 1);
  EXPECT_LT(ulps("exp", -1, 1, [](double x) { return std::exp(x); }), 1);
  EXPECT_LT(ulps("log", 1e-6, 4, [](double x) { return std::log(x); }), 1);
  EXPECT_LT(ulps("log", 1, 1e30, [](double x) { return std::log(x); }), 1);
  for (double high : {1e-6, 1e-3, 4.0, 1e30}) {
    EXPECT_LT(ulps("log1p", 0, high, [](double x) { return std::log1p(x); }),
              2);
  }
  EXPECT_LT(ulps("log1p", -0.99, 0, [](double x) { return std::log1p(x); }), 2);
  for (double high : {1e-6, 1e-3, 0.4, 2.0, 20.0, 88.7}) {
    EXPECT_LT(ulps("expm1", -std::min(high, 30.0), high,
                   [](double x) { return std::expm1(x); }),
              2);
  }
  EXPECT_LT(ulps("tanh", -10, 10, [](double x) { return std::tanh(x); }), 1.5);
  EXPECT_LT(ulps("tanh", -1, 1, [](double x) { return std::tanh(x); }), 1.5);
  EXPECT_LT(ulps("erf", -4.5, 4.5, [](double x) { return std::erf(x); }), 1.2);
  EXPECT_LT(ulps("sin", -100, 100, [](double x) { return std::sin(x); }), 0.51);
  EXPECT_LT(ulps("cos", -100, 100, [](double x) { return std::cos(x); }), 0.51);
  EXPECT_LT(
      ulps("sigmoid", -30, 30, [](double x) { return 1 / (1 + std::exp(-x)); }),
      2.6);
}

} // namespace
