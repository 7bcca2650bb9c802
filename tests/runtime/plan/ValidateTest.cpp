//===- ValidateTest.cpp - unsound plans are refused, none crashes ---------===//

#include "AdaptedPlan.h"
#include "Faults.h"

#include "runtime/plan/Inspect.h"

#include "google/protobuf/stubs/logging.h"

#include <cmath>
#include <random>

namespace zerograph {
namespace {

TEST(Validate, AcceptsSoundPlans) {
  for (const plan::Plan &plan :
       {testing::stageThreePlan(), testing::stageOnePlan(),
        testing::accumulatingPlan()}) {
    EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
  }
}

// In-place launches: a result exactly on an operand, where its kernel allows
// it.
TEST(Validate, InPlaceLaunches) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Step &launch = *step(plan, 5);
  launch.mutable_accesses(1)->set_slice(launch.accesses(0).slice());
  EXPECT_FALSE(validatePlan(plan).ok());
  plan.mutable_kernels(1)->mutable_operands(1)->add_in_place(0);
  EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
  // On a part of it only, apart from it, and on each rank elsewhere.
  plan.mutable_slices(testing::sliceNamed(plan, "y"))->set_bytes(128);
  EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
  launch.mutable_accesses(1)->set_offset(4);
  EXPECT_FALSE(validatePlan(plan).ok());
  launch.mutable_accesses(1)->set_offset(64);
  EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
  launch.mutable_accesses(0)->add_strides(64);
  EXPECT_FALSE(validatePlan(plan).ok()); // rank 1 reads them
  launch.mutable_accesses(1)->set_offset(0);
  launch.mutable_accesses(1)->add_strides(64);
  EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
}

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
  const std::pair<const char *, void (*)(Convolution &)> kFaults[] = {
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
  for (const auto &[text, make] : kFaults) {
    plan::Plan plan = testing::stageThreePlan();
    make(convolution(plan));
    expectSays(validatePlan(plan), text);
  }
}

TEST(Validate, Adapters) {
  EXPECT_TRUE(detail::validateAdapters(testing::adaptedPlan(6, 4)).ok());
  using Fault = std::function<void(plan::Unit & frozen, plan::Unit & trained)>;
  const std::pair<const char *, Fault> kFaults[] = {
      {"\"c\" is no such matrix",
       [](plan::Unit &frozen, plan::Unit &) {
         frozen.mutable_parameters(0)->mutable_adapter()->set_a("c");
       }},
      {"\"b\" is no such matrix of a f32 adapter",
       [](plan::Unit &, plan::Unit &trained) {
         trained.mutable_parameters(1)->set_init(plan::ZEROS);
       }},
      {"\"a\" is no such matrix of a f64 adapter",
       [](plan::Unit &frozen, plan::Unit &) { frozen.set_type(plan::F64); }},
      {"it is i64, trained",
       [](plan::Unit &frozen, plan::Unit &) { frozen.set_type(plan::I64); }},
      {"it is f32, trained",
       [](plan::Unit &frozen, plan::Unit &) { frozen.set_trainable(true); }},
      {"alpha no number",
       [](plan::Unit &frozen, plan::Unit &) {
         frozen.mutable_parameters(0)->mutable_adapter()->set_alpha(NAN);
       }},
      {"its 24 elements are no product",
       [](plan::Unit &, plan::Unit &trained) {
         trained.mutable_parameters(0)->set_shape(1, 3);
       }},
      {"its 24 elements are no product",
       [](plan::Unit &, plan::Unit &trained) {
         trained.mutable_parameters(1)->set_shape(1, 3);
       }},
      {"parameter a is no matrix", [](plan::Unit &, plan::Unit &trained) {
         trained.mutable_parameters(0)->clear_shape();
       }}};
  for (const auto &[cause, fault] : kFaults) {
    plan::Plan plan = testing::adaptedPlan(6, 4);
    fault(*plan.mutable_units(0), *plan.mutable_units(1));
    expectSays(detail::validateAdapters(plan), cause);
  }
}

// Any bytes that parse are a plan that somebody may give us.
TEST(Validate, SurvivesDamagedMessages) {
  google::protobuf::LogSilencer silencer;
  std::mt19937 random(1);
  int parsed = 0;
  int sound = 0;
  for (const plan::Plan &original :
       {testing::stageThreePlan(), testing::accumulatingPlan()}) {
    std::string bytes = original.SerializeAsString();
    for (int i = 0; i < 30000; ++i) {
      std::string damaged = bytes;
      for (int flips = 1 + random() % 3; flips > 0; --flips) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      plan::Plan plan;
      if (plan.ParseFromString(damaged)) {
        ++parsed;
        sound += validatePlan(plan).ok();
        (void)verifyPlan(plan);
        if (parsed % 20 == 0) {
          (void)inspectPlan({plan, ""});
        }
      }
    }
  }
  EXPECT_GT(parsed, 1000);
  EXPECT_GT(sound, 100);
}

} // namespace
} // namespace zerograph
