//===- ValidateConvolutionTest.cpp - unsound convolutions are refused -----===//

#include "PlanBuilder.h"

#include "runtime/plan/Validate.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>

namespace zerograph {
namespace {

using ::testing::HasSubstr;

/// The product of stageThreePlan as a convolution of one place.
plan::Convolution &convolution(plan::Plan &plan) {
  plan::Convolution &c =
      *plan.mutable_programs(0)->mutable_steps(4)->mutable_convolution();
  c.set_kind(plan::CONVOLVE);
  c.set_element_type(plan::F32);
  c.set_samples(2);
  c.set_groups(1);
  c.set_channels(8);
  c.set_features(8);
  c.add_input(1);
  c.add_window(1);
  c.add_output(1);
  c.add_strides(1);
  c.add_low(0);
  c.add_dilations(1);
  return c;
}

TEST(Validate, Convolutions) {
  plan::Plan sound = testing::stageThreePlan();
  convolution(sound);
  EXPECT_TRUE(validatePlan(sound).ok()) << validatePlan(sound);
  using Convolution = plan::Convolution;
  std::pair<const char *, std::function<void(Convolution &)>> faults[] = {
      {"elements of type i32",
       [](Convolution &c) { c.set_element_type(plan::I32); }},
      {"unknown kind 7",
       [](Convolution &c) { c.set_kind(plan::ConvolutionKind(7)); }},
      {"not the same number", [](Convolution &c) { c.add_window(1); }},
      {"not the same number", [](Convolution &c) { c.clear_low(); }},
      {"in 3 groups", [](Convolution &c) { c.set_groups(3); }},
      {"convolves 0 samples", [](Convolution &c) { c.set_samples(0); }},
      {"a size of 0", [](Convolution &c) { c.set_strides(0, 0); }},
      {"a size of 0 or above",
       [](Convolution &c) { c.set_low(0, ~uint64_t(0)); }},
      {"a size of 0 or above",
       [](Convolution &c) { c.set_input(0, ~uint64_t(0)); }},
      {"do not fit 2 elements", [](Convolution &c) { c.set_input(0, 2); }},
      {"not the weights", [](Convolution &c) { c.set_window(0, 2); }},
      {"not the output", [](Convolution &c) { c.set_output(0, 2); }},
      // The operands of another kind have other sizes.
      {"not the output",
       [](Convolution &c) { c.set_kind(plan::WEIGHTS_GRADIENT); }},
  };
  for (const auto &[cause, make] : faults) {
    plan::Plan plan = testing::stageThreePlan();
    make(convolution(plan));
    EXPECT_THAT(std::string(validatePlan(plan).message()), HasSubstr(cause));
  }
}

} // namespace
} // namespace zerograph
