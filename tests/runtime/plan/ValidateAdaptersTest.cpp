//===- ValidateAdaptersTest.cpp - unsound adapters are refused ------------===//

#include "AdaptedPlan.h"
#include "runtime/plan/Validate.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <functional>

namespace zerograph {
namespace {

using testing::adaptedPlan;

TEST(ValidateAdapters, EachFaultIsRefused) {
  EXPECT_TRUE(detail::validateAdapters(adaptedPlan(6, 4)).ok());
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
    plan::Plan plan = adaptedPlan(6, 4);
    fault(*plan.mutable_units(0), *plan.mutable_units(1));
    absl::Status status = detail::validateAdapters(plan);
    EXPECT_FALSE(status.ok()) << cause;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(cause));
  }
}

} // namespace
} // namespace zerograph
