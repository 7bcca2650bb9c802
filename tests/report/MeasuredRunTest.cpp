//===- MeasuredRunTest.cpp - when steps ran, as a trace says --------------===//

#include "report/MeasuredRun.h"
#include "tests/runtime/plan/PlanBuilder.h"
#include "tests/support/Says.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace zerograph::report {
namespace {

class MeasuredRunTest : public ::testing::Test {
protected:
  /// An event of a step of the plan's first program.
  std::string event(int step, const char *category, double begin, double lasts,
                    int rank = 0) const {
    return absl::StrCat(
        R"({"ph": "X", "pid": )", rank, R"(, "cat": ")", category,
        R"(", "name": ")", plan.programs(0).steps(step).name(), R"(", "ts": )",
        begin, R"(, "dur": )", lasts, R"(, "args": {"program": ")",
        plan.programs(0).name(), R"(", "step": )", step, "}}");
  }
  absl::StatusOr<MeasuredRun> parse(const std::string &events) const {
    return parseTrace(plan, absl::StrCat(R"({"traceEvents": [)", events, "]}"));
  }

  plan::Plan plan = zerograph::testing::stageThreePlan();
};

TEST_F(MeasuredRunTest, TakesWorkAndWaitsOfRankZero) {
  std::string events =
      absl::StrCat(event(0, "launch", 10, 5), ",", event(1, "wait", 15, 2), ",",
                   event(1, "all_gather", 17, 3), ",",
                   event(1, "all_gather", 90, 9, /*rank=*/1), ",",
                   R"({"ph": "M", "pid": 0})");
  expectSays(parse(events).status(), "it lacks step 2 of program");
  for (int step = 2; step < plan.programs(0).steps_size(); ++step) {
    absl::StrAppend(&events, ",", event(step, "launch", 20 + step, 1));
  }
  auto run = parse(events);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->size(), size_t(plan.programs_size()));
  const std::vector<MeasuredStep> &steps = (*run)[0];
  ASSERT_EQ(steps.size(), size_t(plan.programs(0).steps_size()));
  EXPECT_DOUBLE_EQ(steps[0].begin, 10e-6);
  EXPECT_DOUBLE_EQ(steps[0].end, 15e-6);
  EXPECT_DOUBLE_EQ(steps[1].begin, 17e-6);
  EXPECT_DOUBLE_EQ(steps[1].waited, 2e-6);
}

TEST_F(MeasuredRunTest, RefusesATraceOfAnotherPlan) {
  std::string other = event(0, "launch", 0, 1);
  other.replace(other.find(plan.programs(0).steps(0).name()), 1, "?");
  expectSays(parse(other).status(), "it is a trace of another plan",
             "has no step 0 \"?");
  std::string beyond = event(0, "launch", 0, 1);
  beyond.replace(beyond.find("\"step\": 0"), 9, "\"step\": 9999");
  expectSays(parse(beyond).status(), "no step 9999");
}

TEST_F(MeasuredRunTest, RefusesWhatIsNoTrace) {
  for (const char *text :
       {"", "[]", "{}", R"({"traceEvents": 1})",
        R"({"traceEvents": [{"ph": "X"}]})",
        R"({"traceEvents": [{"ph": "X", "pid": 0, "name": 1}]})"}) {
    expectSays(parseTrace(plan, text).status(),
               "it is no trace that train --trace wrote");
  }
  expectSays(parse(event(0, "launch", 0, 1, /*rank=*/1)).status(),
             "it has no step of rank 0");
  std::string huge = event(0, "launch", 0, 1);
  huge.replace(huge.find("\"step\": 0"), 9, "\"step\": 1e128");
  expectSays(parse(huge).status(), "the step 1e+128, which is no whole number");
  expectSays(parse(event(0, "launch", 0, -1)).status(), "which no step does");
  expectSays(parse(event(0, "launch", 1e300, 1)).status(),
             "which no step does");
}

} // namespace
} // namespace zerograph::report
