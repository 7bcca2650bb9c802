//===- InspectTest.cpp - reports say what the plan does -------------------===//

#include "PlanBuilder.h"

#include "runtime/plan/Inspect.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Textbook.h"
#include "runtime/plan/Traffic.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <limits>

namespace zerograph {
namespace {

TEST(Memory, ClassesAtTheirPeaks) {
  plan::Plan plan = testing::stageThreePlan();
  ClassBytes peaks = memoryOf(plan)[0].class_peaks;
  EXPECT_EQ(peaks[plan::PARAM_SHARD], 2 * 1024u);
  EXPECT_EQ(peaks[plan::OPTIMIZER], 2 * 1024u);
  // Both gathered buffers are live at once; so are both gradients never: b's
  // are reduced at step 6, a's begin at step 7.
  EXPECT_EQ(peaks[plan::GATHERED], 2 * 2048u);
  EXPECT_EQ(peaks[plan::GRAD], 2048u);
  EXPECT_EQ(peaks[plan::GRAD_SHARD], 2 * 1024u);
  ModelState state = modelState(plan);
  EXPECT_EQ(state.parameters, 2 * 1024u + 2 * 2048u);
  // a's gradients while b's shard waits for its update, then a's shard too.
  EXPECT_EQ(state.gradients, 2048u + 2 * 1024u);
  EXPECT_EQ(state.optimizer, 2 * 1024u);
}

TEST(Memory, ThePeakStepHasTheMostLive) {
  plan::Plan plan = testing::stageThreePlan();
  std::vector<ArenaMemory> memory = memoryOf(plan);
  ASSERT_EQ(memory.size(), 2u); // and the slots
  const ProgramMemory &peak = memory[0].programs[0];
  std::vector<std::optional<Life>> lives = livesOf(plan, 0);
  uint64_t most = 0;
  for (uint32_t step = 0; step < 13; ++step) {
    uint64_t live = 0;
    for (int i = 0; i < plan.slices_size(); ++i) {
      const plan::Slice &slice = plan.slices(i);
      if (slice.arena() != 0) {
        continue;
      }
      const std::optional<Life> &life = lives[i];
      bool here = slice.carried() ||
                  (life && life->first <= step && step <= life->last);
      live += here ? slice.bytes() : 0;
    }
    most = std::max(most, live);
    EXPECT_TRUE(live < peak.live || step >= peak.peak_step);
  }
  EXPECT_EQ(most, peak.live);
}

// Whatever differs from the formula has a name, to the byte.
TEST(Textbook, DifferencesAddUp) {
  for (const plan::Plan &plan :
       {testing::stageThreePlan(), testing::stageOnePlan(),
        testing::accumulatingPlan()}) {
    Textbook book = compareWithTextbook(plan);
    int64_t sum = static_cast<int64_t>(book.bytes);
    for (const Difference &difference : book.differences) {
      EXPECT_NE(difference.bytes, 0);
      sum += difference.bytes;
    }
    EXPECT_EQ(sum, static_cast<int64_t>(book.planned));
    EXPECT_EQ(book.planned, trafficOf(plan).all().saturated());
  }
}

TEST(Textbook, SaysWhyUnitsAreGatheredLessOften) {
  // Two units of 500 elements, gathered once and not twice.
  Textbook book = compareWithTextbook(testing::stageThreePlan());
  EXPECT_EQ(book.formula, "3 Psi (N - 1) / N");
  EXPECT_EQ(book.psi, 2 * 500 * 4u);
  EXPECT_EQ(book.bytes, 3 * book.psi / 2);
  ASSERT_EQ(book.differences.size(), 3u);
  EXPECT_EQ(book.differences[0].reason,
            "kept gathered from forward to backward, or used in one of them "
            "alone");
  EXPECT_EQ(book.differences[0].bytes, -2048);
  EXPECT_EQ(book.differences[1].bytes, 3 * 2 * 12 * 4 / 2); // padding
  EXPECT_EQ(book.differences[2].bytes, 8);                  // scalars
}

// A tied parameter is gathered for each use that lies apart.
TEST(Textbook, TiedParametersAreGatheredAgain) {
  plan::Plan plan = testing::stageThreePlan();
  for (plan::Step &step : *plan.mutable_programs(0)->mutable_steps()) {
    if (step.has_all_gather()) {
      step.mutable_all_gather()->set_unit(0);
    }
  }
  plan::Step again = plan.programs(0).steps(1);
  *plan.mutable_programs(0)->add_steps() = again;
  Textbook book = compareWithTextbook(plan);
  std::map<std::string, int64_t> differences;
  for (const Difference &difference : book.differences) {
    differences[difference.reason] = difference.bytes;
  }
  EXPECT_EQ(differences.at("gathered again where uses lie apart, as of tied "
                           "parameters"),
            1024);
}

TEST(Textbook, AccumulationReducesEveryMicroBatch) {
  Textbook book = compareWithTextbook(testing::accumulatingPlan());
  EXPECT_EQ(book.formula, "3 Psi (N - 1) / N");
  ASSERT_EQ(book.differences.size(), 2u); // padding and scalars
}

TEST(Inspect, ReportsWhatIsInThePlan) {
  LoadedPlan loaded{testing::accumulatingPlan(), std::string(32, '0')};
  absl::StatusOr<nlohmann::ordered_json> report = inspectPlan(loaded);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ((*report)["ranks"], 2);
  EXPECT_EQ((*report)["units"][0]["padding"], 12);
  EXPECT_EQ((*report)["steps"].size(), 9u);
  EXPECT_EQ((*report)["collectives"].size(), 3u);
  EXPECT_EQ((*report)["collectives"][0]["runs_per_step"], 2);
  EXPECT_EQ((*report)["memory"]["arenas"][0]["peak"], peakOf(loaded.plan, 0));
  EXPECT_EQ((*report)["memory"]["arenas"][1]["space"], "pinned");
  std::string text = inspectText(*report, true);
  for (const char *part :
       {"  device: 7,104 allocated", "  pinned: 384 allocated",
        "ZeRO stage 2 on 2 ranks", "a.weight [500]", "grad_shard",
        "reduce a: gradients of a complete", "Psi = 2,000 bytes",
        "padding of parameters and units"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(part));
  }
  EXPECT_LT(inspectText(*report, false).size(), text.size());
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("Wasteful")));
}

TEST(Inspect, SaysWhatTheLibrariesOfAGpuCompute) {
  using ::testing::HasSubstr;
  LoadedPlan loaded{testing::stageThreePlan(), ""};
  absl::StatusOr<nlohmann::ordered_json> report = inspectPlan(loaded);
  ASSERT_TRUE(report.ok()) << report.status();
  (*report)["target"]["device"] = "cuda";
  (*report)["target"]["math_library"] = "cuDNN";
  EXPECT_THAT(inspectText(*report, false),
              HasSubstr("; cuDNN, convolutions of f32 without TF32\n"));
  (*report)["target"]["math_library"] = "cuBLASLt, cuDNN";
  (*report)["target"]["allow_tf32"] = true;
  EXPECT_THAT(inspectText(*report, false),
              HasSubstr("; cuBLASLt, cuDNN, products and convolutions of f32 "
                        "may round to TF32\n"));
}

TEST(Inspect, ListsWhatIsWasteful) {
  LoadedPlan loaded{testing::stageOnePlan(), ""};
  plan::Step &update = *loaded.plan.mutable_programs(0)->mutable_steps(5);
  update.add_waits(2);
  absl::StatusOr<nlohmann::ordered_json> report = inspectPlan(loaded);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(inspectText(*report, false),
              ::testing::HasSubstr("Wasteful\n  useless wait: step 5 of "));
}

TEST(Inspect, AnInfiniteLimitIsNone) {
  LoadedPlan loaded{testing::stageOnePlan(), ""};
  loaded.plan.set_clip_norm(std::numeric_limits<double>::infinity());
  auto report = inspectPlan(loaded);
  ASSERT_TRUE(report.ok()) << report.status();
  auto parsed = nlohmann::ordered_json::parse(report->dump());
  for (const nlohmann::ordered_json &each : {*report, parsed}) {
    EXPECT_THAT(inspectText(each, false),
                ::testing::Not(::testing::HasSubstr("clipped")));
  }
}

TEST(Inspect, RefusesUnsoundPlans) {
  LoadedPlan loaded{testing::stageOnePlan(), ""};
  loaded.plan.mutable_programs(0)
      ->mutable_steps(1)
      ->mutable_accesses(0)
      ->set_slice(1000);
  EXPECT_FALSE(inspectPlan(loaded).ok());
}

} // namespace
} // namespace zerograph
