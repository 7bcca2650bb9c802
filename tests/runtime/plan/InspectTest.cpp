//===- InspectTest.cpp - reports say what the plan does -------------------===//

#include "PlanBuilder.h"

#include "options/Cards.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/TheoreticalTraffic.h"
#include "runtime/plan/Traffic.h"
#include "tests/support/Says.h"

#include "absl/strings/str_split.h"
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
TEST(TheoreticalTraffic, DifferencesAddUp) {
  for (const plan::Plan &plan :
       {testing::stageThreePlan(), testing::stageOnePlan(),
        testing::accumulatingPlan()}) {
    TheoreticalTraffic book = compareWithTextbook(plan);
    int64_t sum = static_cast<int64_t>(book.bytes);
    for (const Difference &difference : book.differences) {
      EXPECT_NE(difference.bytes, 0);
      sum += difference.bytes;
    }
    EXPECT_EQ(sum, static_cast<int64_t>(book.planned));
    EXPECT_EQ(book.planned, trafficOf(plan).all().saturated());
  }
}

TEST(TheoreticalTraffic, SaysWhyUnitsAreGatheredLessOften) {
  // Two units of 500 elements, gathered once and not twice.
  TheoreticalTraffic book = compareWithTextbook(testing::stageThreePlan());
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
TEST(TheoreticalTraffic, TiedParametersAreGatheredAgain) {
  plan::Plan plan = testing::stageThreePlan();
  for (plan::Step &step : *plan.mutable_programs(0)->mutable_steps()) {
    if (step.has_all_gather()) {
      step.mutable_all_gather()->set_unit(0);
    }
  }
  plan::Step again = plan.programs(0).steps(1);
  *plan.mutable_programs(0)->add_steps() = again;
  TheoreticalTraffic book = compareWithTextbook(plan);
  std::map<std::string, int64_t> differences;
  for (const Difference &difference : book.differences) {
    differences[difference.reason] = difference.bytes;
  }
  EXPECT_EQ(differences.at("gathered again where uses lie apart, as of tied "
                           "parameters"),
            1024);
}

TEST(TheoreticalTraffic, AccumulationReducesEveryMicroBatch) {
  TheoreticalTraffic book = compareWithTextbook(testing::accumulatingPlan());
  EXPECT_EQ(book.formula, "3 Psi (N - 1) / N");
  ASSERT_EQ(book.differences.size(), 2u); // padding and scalars
}

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// A section of a report as text.
std::string section(const std::string &name,
                    const nlohmann::ordered_json &report, bool exact = true) {
  for (const InspectSection &section : inspectSections()) {
    if (name == section.name) {
      return section.text(report, exact);
    }
  }
  return "no section has this name";
}

TEST(Inspect, ReportsWhatIsInThePlan) {
  LoadedPlan loaded{testing::accumulatingPlan(), std::string(32, '0')};
  auto report = inspectPlan(loaded).value();
  EXPECT_EQ(report["ranks"], 2);
  EXPECT_EQ(report["units"][0]["padding"], 12);
  EXPECT_EQ(report["steps"].size(), 9u);
  EXPECT_EQ(report["collectives"].size(), 3u);
  EXPECT_EQ(report["collectives"][0]["runs_per_step"], 2);
  EXPECT_EQ(report["memory"]["arenas"][0]["peak"], peakOf(loaded.plan, 0));
  EXPECT_EQ(report["memory"]["arenas"][1]["space"], "pinned");
  for (auto [name, part] :
       {std::pair("memory", "  device +7,104 +7,104 +6,672\n"),
        std::pair("memory", "  pinned +384 +384 +384\n"),
        std::pair("memory", "grad_shard"), std::pair("settings", "ranks"),
        std::pair("units", "a.weight +\\[500\\] +yes"),
        std::pair("collectives", "gradients of a complete"),
        std::pair("collectives", "textbook +formula 3 Psi \\(N - 1\\) / N, psi "
                                 "2,000, bytes 3,000\n"),
        std::pair("collectives", "padding of parameters and units, bytes 72\n"),
        std::pair("findings", "none")}) {
    EXPECT_THAT(section(name, report), ContainsRegex(part));
  }
  expectSays(section("memory", report, /*exact=*/false),
             "  device  6.94 KiB  6.94 KiB  ");
}

// Prints what a slice is, where it lies and when it lives, for who draws the
// arena.
TEST(Inspect, HasTheLivesOfSlices) {
  LoadedPlan loaded{testing::stageThreePlan(), ""};
  auto report = inspectPlan(loaded).value();
  const nlohmann::ordered_json &slices = report["slices"];
  ASSERT_EQ(slices.size(), size_t(loaded.plan.slices_size()));
  std::vector<std::optional<Life>> lives = livesOf(loaded.plan, 0);
  for (size_t i = 0; i < slices.size(); ++i) {
    const plan::Slice &slice = loaded.plan.slices(int(i));
    EXPECT_EQ(slices[i]["name"], slice.name());
    EXPECT_EQ(slices[i]["offset"], slice.offset());
    EXPECT_EQ(slices[i]["bytes"], slice.bytes());
    EXPECT_EQ(slices[i]["space"], slice.arena() == 0 ? "device" : "pinned");
    EXPECT_EQ(slices[i]["carried"], slice.carried());
    ASSERT_EQ(slices[i]["lives"].size(), lives[i] ? 1u : 0u);
    if (lives[i]) {
      EXPECT_EQ(slices[i]["lives"][0]["first"], lives[i]->first);
      EXPECT_EQ(slices[i]["lives"][0]["last"], lives[i]->last);
    }
  }
  expectSays(section("slices", report), "gathered");
}

TEST(Inspect, ASummaryIsOneScreen) {
  for (const plan::Plan &plan :
       {testing::stageThreePlan(), testing::stageOnePlan(),
        testing::accumulatingPlan()}) {
    LoadedPlan loaded{plan, ""};
    loaded.plan.set_model(std::string(200, 'x'));
    for (bool exact : {false, true}) {
      auto text = inspectSummary(loaded, exact).value();
      std::vector<std::string> lines = absl::StrSplit(text, '\n');
      EXPECT_LE(lines.size(), 25u) << text; // the last is empty
      for (const std::string &line : lines) {
        EXPECT_LE(line.size(), 80u) << line;
      }
      expectSays(text, "Findings: none\n");
    }
  }
}

TEST(Inspect, SaysWhatAPlanFits) {
  plan::Plan plan = testing::stageThreePlan();
  plan.mutable_arenas(0)->set_bytes(uint64_t(3) << 30);
  plan.mutable_arenas(1)->set_bytes(uint64_t(1) << 30);
  EXPECT_EQ(fitsLine(plan, /*exact=*/false),
            "a host with 4.00 GiB free a rank (2: 8.00 GiB), 150 MiB a "
            "process");
  plan::Target &target = *plan.mutable_devices(0);
  target.set_device("cuda");
  target.clear_features();
  target.add_features("sm_90");
  // No card before Hopper, and none that is too small for the arena with what
  // NCCL needs for two ranks.
  const options::Card &card = *options::findCard("h100");
  auto usable = uint64_t(options::usableBytes(card, 2));
  plan.mutable_arenas(0)->set_bytes(usable);
  expectSays(fitsLine(plan, false), "GPUs from h100 on, which has 74.4 GiB");
  plan.mutable_arenas(0)->set_bytes(usable + 1);
  expectSays(fitsLine(plan, false), "GPUs from h20 on, ");
  plan.mutable_arenas(0)->set_bytes(uint64_t(1) << 40);
  expectSays(fitsLine(plan, false), "no GPU that is known");
  target.set_features(0, "sm_80");
  plan.mutable_arenas(0)->set_bytes(uint64_t(1) << 20);
  expectSays(fitsLine(plan, false), "GPUs from a10 on, ");
}

TEST(Inspect, ListsWhatIsWasteful) {
  LoadedPlan loaded{testing::stageOnePlan(), ""};
  plan::Step &update = *loaded.plan.mutable_programs(0)->mutable_steps(5);
  update.add_waits(2);
  auto report = inspectPlan(loaded).value();
  expectSays(section("findings", report), "wasteful: useless wait: step 5 of ");
  expectSays(*inspectSummary(loaded, false),
             "Findings: useless wait: step 5 of ");
  // Nor is what could go wrong hidden.
  update.clear_waits();
  expectSays(*inspectSummary(loaded, false), "Findings: UNSAFE: ");
}

TEST(Inspect, AnInfiniteLimitIsNone) {
  LoadedPlan loaded{testing::stageOnePlan(), ""};
  loaded.plan.set_clip_norm(std::numeric_limits<double>::infinity());
  auto report = inspectPlan(loaded).value();
  auto parsed = nlohmann::ordered_json::parse(report.dump());
  for (const nlohmann::ordered_json &each : {report, parsed}) {
    EXPECT_THAT(section("settings", each), Not(HasSubstr("clip_norm")));
  }
  loaded.plan.set_clip_norm(0.5);
  EXPECT_THAT(section("settings", *inspectPlan(loaded)),
              ContainsRegex("clip_norm +0.5\n"));
}

TEST(Inspect, RefusesUnsoundPlans) {
  LoadedPlan loaded{testing::stageOnePlan(), ""};
  loaded.plan.mutable_programs(0)
      ->mutable_steps(1)
      ->mutable_accesses(0)
      ->set_slice(1000);
  EXPECT_FALSE(inspectPlan(loaded).ok());
  EXPECT_FALSE(inspectSummary(loaded, false).ok());
}

} // namespace
} // namespace zerograph
