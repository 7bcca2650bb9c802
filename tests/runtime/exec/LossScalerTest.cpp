//===- LossScalerTest.cpp - scales are those of DeepSpeed's class ---------===//
//
// scaler/reference.txt has runs of DeepSpeed's DynamicLossScaler;
// make_reference.py beside it wrote it, and says what a line is.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/LossScaler.h"
#include "tests/support/Says.h"

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

#include <cmath>
#include <fstream>
#include <sstream>

namespace zerograph {
namespace {

/// The powers of "4x2,3x1": 4, 4, 3.
std::vector<int> powersOf(const std::string &text) {
  std::vector<int> powers;
  for (absl::string_view run : absl::StrSplit(text, ',')) {
    std::vector<std::string> parts = absl::StrSplit(run, 'x');
    if (parts.size() == 2) {
      powers.insert(powers.end(), std::stoul(parts[1]), std::stoi(parts[0]));
    }
  }
  return powers;
}

TEST(LossScaler, IsDeepSpeedsOwn) {
  std::ifstream file(ZEROGRAPH_SCALER);
  std::string line;
  int runs = 0, ended = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    std::istringstream fields(line);
    int power = 0, consecutive = 0, minimum = 0;
    uint64_t window = 0;
    uint32_t hysteresis = 0;
    std::string steps, scales, end;
    fields >> power >> window >> hysteresis >> consecutive >> minimum >>
        steps >> scales >> end;
    plan::Plan plan;
    plan::LossScale &scale = *plan.mutable_loss_scale();
    scale.set_initial(std::ldexp(1.0, power));
    scale.set_window(window);
    scale.set_hysteresis(hysteresis);
    scale.set_consecutive_hysteresis(consecutive != 0);
    scale.set_minimum(std::ldexp(1.0, minimum));
    LossScaler scaler(plan);
    EXPECT_EQ(scaler.scale(), std::ldexp(1.0, power));
    std::vector<int> expected = powersOf(scales);
    ASSERT_EQ(expected.size() + !end.empty(), steps.size()) << line;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (i % 3 == 2) { // another goes on from what this one knows
        LossScaler next(plan);
        next.restore(*scaler.state());
        scaler = next;
      }
      absl::Status status = scaler.update(steps[i] == '1');
      ASSERT_EQ(status.ok(), i < expected.size()) << line << " step " << i;
      if (status.ok()) {
        ASSERT_EQ(scaler.scale(), std::ldexp(1.0, expected[i]))
            << line << " step " << i;
      }
    }
    ++runs;
    ended += !end.empty();
  }
  EXPECT_EQ(runs, 1000);
  EXPECT_GT(ended, 0);
}

TEST(LossScaler, StaysWithoutAWindow) {
  plan::Plan plan;
  plan.mutable_loss_scale()->set_initial(128);
  LossScaler scaler(plan);
  for (bool overflow : {true, true, false, false}) {
    EXPECT_TRUE(scaler.update(overflow).ok());
    EXPECT_EQ(scaler.scale(), 128);
  }
  EXPECT_FALSE(scaler.state());
  EXPECT_EQ(LossScaler(plan::Plan()).scale(), 1);
}

// A run with a fixed scale, or another hysteresis, may have saved it.
TEST(LossScaler, IsHalvedWhateverHysteresisWasSaved) {
  plan::Plan plan;
  plan::LossScale &scale = *plan.mutable_loss_scale();
  scale.set_initial(8);
  scale.set_window(100);
  scale.set_hysteresis(2);
  scale.set_minimum(1);
  for (uint32_t saved : {0u, 1u, 5u}) {
    LossScaler scaler(plan);
    scaler.restore({/*scale=*/64, 0, -1, saved});
    EXPECT_TRUE(scaler.update(true).ok());
    EXPECT_TRUE(scaler.update(true).ok());
    EXPECT_LE(scaler.scale(), 32) << saved;
  }
}

TEST(LossScaler, SaysWhatToDoAtTheLeastScale) {
  plan::Plan plan;
  plan::LossScale &scale = *plan.mutable_loss_scale();
  scale.set_initial(1);
  scale.set_window(2);
  scale.set_hysteresis(1);
  scale.set_minimum(1);
  expectSays(LossScaler(plan).update(true), "the least loss scale, 1");
}

} // namespace
} // namespace zerograph
