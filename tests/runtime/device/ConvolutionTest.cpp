//===- ConvolutionTest.cpp - oneDNN convolutions against plain loops ------===//

#include "runtime/device/host/ConvolutionLibrary.h"
#include "runtime/device/host/ConvolutionParts.h"
#include "tests/support/ConvolutionCase.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

/// The result by the library, with scratch full of NaNs before.
std::vector<double> run(const ConvolutionCase &test) {
  const plan::Convolution &convolution = test.convolution;
  auto bytes = scratchBytes(convolution);
  EXPECT_TRUE(bytes.ok()) << test.shape.name << ": " << bytes.status();
  std::vector<float> room((bytes.value_or(0) + 64) / 4, NAN);
  auto address = reinterpret_cast<uintptr_t>(room.data());
  auto *scratch = reinterpret_cast<void *>((address + 63) / 64 * 64);
  std::array<int, 3> tensor = test.order();
  std::vector<float> operands[2];
  for (int i = 0; i < 2; ++i) {
    const std::vector<double> &values = test.tensors[tensor[i]];
    operands[i].assign(values.begin(), values.end());
  }
  std::vector<float> result(test.tensors[tensor[2]].size(), NAN);
  auto call =
      bindConvolution(convolution, operands[0].data(), operands[1].data(),
                      result.data(), scratch, bytes.value_or(0));
  EXPECT_TRUE(call.ok()) << test.shape.name << ": " << call.status();
  for (unsigned i = 0; call.ok() && i < (*call)->parts(); ++i) {
    EXPECT_TRUE((*call)->run(i).ok());
  }
  return {result.begin(), result.end()};
}

TEST(Convolution, AgreesWithLoops) {
  for (const ConvolutionShape &shape : convolutionShapes()) {
    for (plan::ConvolutionKind kind : kConvolutionKinds) {
      ConvolutionCase test(shape, kind);
      EXPECT_LT(test.error(run(test)), 3e-6) << shape.name << " kind " << kind;
    }
  }
}

ConvolutionCuts cutsOf(const std::string &name, plan::ConvolutionKind kind) {
  for (const ConvolutionShape &shape : convolutionShapes()) {
    if (name == shape.name) {
      return cutConvolution(shape.convolution(kind, plan::F32));
    }
  }
  ADD_FAILURE() << "no shape is called " << name;
  return {};
}

TEST(Convolution, LargeOnesHaveSeveralParts) {
  for (plan::ConvolutionKind kind : kConvolutionKinds) {
    for (const char *name :
         {"large", "large groups", "small images", "small groups"}) {
      EXPECT_GT(cutsOf(name, kind).at.size(), 2u) << name << " kind " << kind;
    }
  }
}

TEST(Convolution, PartsDivideTheLargerTensor) {
  using Axis = ConvolutionAxis;
  EXPECT_EQ(cutsOf("large", plan::CONVOLVE).axis, Axis::samples);
  EXPECT_EQ(cutsOf("large", plan::INPUT_GRADIENT).axis, Axis::samples);
  EXPECT_EQ(cutsOf("large", plan::WEIGHTS_GRADIENT).axis, Axis::features);
  EXPECT_EQ(cutsOf("small images", plan::CONVOLVE).axis, Axis::features);
  EXPECT_EQ(cutsOf("small images", plan::INPUT_GRADIENT).axis, Axis::channels);
  for (plan::ConvolutionKind kind : kConvolutionKinds) {
    EXPECT_EQ(cutsOf("small groups", kind).axis, Axis::groups);
  }
  // A part of one group is a convolution without groups.
  EXPECT_EQ(cutsOf("two groups", plan::WEIGHTS_GRADIENT).at,
            (std::vector<uint64_t>{0, 1, 2}));
  // Two parts are few where the samples have five.
  EXPECT_EQ(cutsOf("two groups", plan::CONVOLVE).axis, Axis::samples);
  // Whole vectors of features: two groups of 40 have five of them.
  EXPECT_EQ(cutsOf("small groups", plan::CONVOLVE).at,
            (std::vector<uint64_t>{0, 2, 5}));
}

TEST(Convolution, ScratchOfAnotherIsRefused) {
  ConvolutionCase test(convolutionShapes()[0], plan::CONVOLVE);
  std::vector<float> all[3];
  for (int i = 0; i < 3; ++i) {
    all[i].resize(test.tensors[i].size());
  }
  auto refusal = [&](uint64_t scratch) {
    auto call = bindConvolution(test.convolution, all[0].data(), all[1].data(),
                                all[2].data(), nullptr, scratch);
    return std::string(call.status().message());
  };
  auto bytes = scratchBytes(test.convolution).value();
  expectSays(refusal(bytes + 64), "bytes of scratch");
  test.convolution.set_element_type(plan::BF16);
  expectSays(refusal(bytes), "BF16");
}

} // namespace
