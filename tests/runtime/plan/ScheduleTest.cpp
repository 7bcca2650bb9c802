//===- ScheduleTest.cpp - rates are those of the schedules' own programs --===//
//
// schedules/reference.json has the rates that DeepSpeed, transformers and
// PyTorch gave, and names their versions; make_reference.py beside it wrote it.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/schedules/Schedule.h"

#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <set>

namespace zerograph {
namespace {

plan::Schedule scheduleFrom(const nlohmann::json &numbers) {
  plan::Schedule schedule;
  auto status =
      google::protobuf::util::JsonStringToMessage(numbers.dump(), &schedule);
  EXPECT_TRUE(status.ok()) << numbers.dump();
  return schedule;
}

plan::Plan planWith(const plan::Schedule &schedule) {
  plan::Plan plan;
  *plan.mutable_schedule() = schedule;
  return plan;
}

/// Steps between two doubles.
int64_t ulpsBetween(double a, double b) {
  int64_t bits[2];
  std::memcpy(&bits[0], &a, sizeof(a));
  std::memcpy(&bits[1], &b, sizeof(b));
  return std::abs(bits[0] - bits[1]);
}

// Exactly, but for one step of a double: another library's log or cos. The
// cases with a tolerance of their own add up errors on the other side.
TEST(Schedules, AreTheirProgramsOwn) {
  nlohmann::json reference =
      nlohmann::json::parse(std::ifstream(ZEROGRAPH_SCHEDULES));
  std::set<std::string> kinds;
  int exact = 0, all = 0;
  for (const nlohmann::json &one : reference["cases"]) {
    plan::Plan plan = planWith(scheduleFrom(one["schedule"]));
    ASSERT_TRUE(checkSchedule(plan.schedule()).ok())
        << checkSchedule(plan.schedule());
    kinds.insert(plan.schedule().kind());
    double tolerance = one["tolerance"], lr = one["lr"];
    uint64_t update = 0;
    for (double expected : one["rates"]) {
      double rate = scheduledRate(plan, lr, ++update);
      std::string what = one["origin"].get<std::string>() + " " +
                         one["schedule"].dump() + ", update " +
                         std::to_string(update);
      if (tolerance > 0) {
        ASSERT_NEAR(rate, expected, lr * tolerance) << what;
        continue;
      }
      ASSERT_LE(ulpsBetween(rate, expected), 1)
          << what << ": " << rate << " and " << expected;
      exact += rate == expected;
      ++all;
    }
    EXPECT_GE(update, 300u);
    update = 0;
    for (double beta1 : one.value("beta1", std::vector<double>())) {
      ASSERT_LE(ulpsBetween(scheduledBeta1(plan, 0.5, ++update), beta1), 1)
          << one["schedule"].dump() << ", update " << update;
    }
    EXPECT_EQ(update > 0, plan.schedule().kind() == "one-cycle");
  }
  EXPECT_EQ(kinds.size(), scheduleKinds().size());
  EXPECT_GE(exact, all * 999 / 1000) << "of " << all;
}

// A rate stays the same after its end, and does not rise again.
TEST(Schedules, StayAtTheirEnd) {
  plan::Schedule schedule;
  schedule.set_kind("cosine");
  schedule.set_total_steps(10);
  schedule.set_min_lr(0.25);
  EXPECT_EQ(scheduledRate(planWith(schedule), 1, 1), 1);
  for (uint64_t update : {11, 15, 21, 1000000}) {
    EXPECT_EQ(scheduledRate(planWith(schedule), 1, update), 0.25);
  }
  schedule.set_kind("linear");
  EXPECT_EQ(scheduledRate(planWith(schedule), 1, 6), 0.625);
  EXPECT_EQ(scheduledRate(planWith(schedule), 1, 1000), 0.25);
}

TEST(Schedules, WithoutOneTheRateIsConstant) {
  EXPECT_EQ(scheduledRate(plan::Plan(), 0.125, 77), 0.125);
  EXPECT_EQ(scheduledBeta1(plan::Plan(), 0.125, 77), 0.125);
}

TEST(Schedules, ARateOfZeroStaysZero) {
  plan::Schedule schedule;
  schedule.set_kind("cosine");
  schedule.set_total_steps(10);
  schedule.set_min_lr(0.25);
  EXPECT_EQ(scheduledRate(planWith(schedule), 0, 5), 0);
}

TEST(Schedules, WrongNumbersAreRefused) {
  auto messageOf = [](const nlohmann::json &numbers) {
    return std::string(checkSchedule(scheduleFrom(numbers)).message());
  };
  EXPECT_EQ(messageOf({{"kind", "sine"}}),
            "the plan's schedule is \"sine\"; there are constant, linear, "
            "cosine, step, warmup, warmup-decay, warmup-cosine, one-cycle");
  EXPECT_EQ(messageOf({{"kind", "constant"}, {"total_steps", 3}}),
            "of the plan's schedule constant total_steps is set; it has no "
            "such number");
  EXPECT_EQ(messageOf({{"kind", "linear"}}),
            "of the plan's schedule linear total_steps is 0; expected at "
            "least 1");
  EXPECT_EQ(
      messageOf({{"kind", "linear"}, {"total_steps", 3}, {"min_lr", -1}}),
      "of the plan's schedule linear min_lr is -1; expected a finite number "
      "that is not negative");
  EXPECT_EQ(messageOf({{"kind", "step"}}),
            "of the plan's schedule step step_size is 0; expected at least 1");
  EXPECT_EQ(messageOf({{"kind", "step"}, {"step_size", uint64_t(1) << 41}}),
            "of the plan's schedule step step_size is 2.19902e+12; expected "
            "at most 2^40");
  EXPECT_EQ(messageOf({{"kind", "warmup"}, {"warmup_steps", 3}}),
            "of the plan's schedule warmup warmup_type is \"\"; expected log "
            "or linear");
  EXPECT_EQ(messageOf({{"kind", "warmup-cosine"},
                       {"warmup_type", "log"},
                       {"warmup_steps", 3},
                       {"total_steps", 9},
                       {"cosine_min_ratio", 2}}),
            "of the plan's schedule warmup-cosine cosine_min_ratio is 2; "
            "expected at most 1");
  EXPECT_EQ(messageOf({{"kind", "one-cycle"}}),
            "of the plan's schedule one-cycle cycle_up is 0; expected at "
            "least 1");
}

} // namespace
} // namespace zerograph
