//===- NcclTest.cpp - trainings on several emulated GPUs ------------------===//
//
// Ranks that are threads, each with a GPU, exchange by emulated NCCL: they have
// the bits of the host; what goes wrong is one error, and leaves nothing.
//
//===----------------------------------------------------------------------===//

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Traffic.h"
#include "tests/e2e/CudaTrainings.h"
#include "tests/emulator/Nccl.h"
#include "tests/support/Says.h"

#include <cmath>
#include <set>

namespace zerograph::testing {
namespace {

using ::testing::HasSubstr;

Training digits(int64_t stage, int64_t ranks, int64_t accumulate) {
  Training training;
  training.model = "mlp-digits";
  training.zero_stage = stage;
  training.ranks = ranks;
  training.accumulate = accumulate;
  training.micro_batch = 2;
  training.steps = 3;
  training.matmul = "generated";
  training.gradients = true;
  return training;
}

/// Every stage, two to four ranks, one and two micro-batches; a transformer.
std::vector<Training> ncclTrainings() {
  std::vector<Training> trainings = {digits(0, 2, 1), digits(1, 2, 2),
                                     digits(2, 3, 1), digits(3, 4, 2)};
  Training gpt = digits(3, 2, 1);
  gpt.model = "gpt2-nano";
  gpt.micro_batch = 1;
  gpt.steps = 1;
  trainings.push_back(gpt);
  return trainings;
}

void expectPlannedTraffic(const Outcome &outcome) {
  ASSERT_FALSE(outcome.result.ranks.empty());
  Traffic planned = trafficOf(outcome.plan);
  for (const exec::RankReport &rank : outcome.result.ranks) {
    EXPECT_EQ(rank.first_step().gather(), planned.gather.saturated());
    EXPECT_EQ(rank.first_step().reduce(), planned.reduce.saturated());
    EXPECT_EQ(rank.first_step().scalar(), planned.scalar.saturated());
  }
}

class NcclBits : public ::testing::TestWithParam<Training> {};

/// Under two schedules; with memory that can be registered, and without.
TEST_P(NcclBits, AreTheHosts) {
  Training training = GetParam();
  Outcome host = trainModel(training);
  training.target = "cuda:emulated";
  for (uint32_t seed : {1, 2}) {
    emulator::Gpu gpu(seed, unsigned(training.ranks));
    emulator::Nccl nccl(gpu);
    if (seed == 2) {
      gpu.refuseHandles();
    }
    Outcome cuda = trainModel(training);
    std::string what = training.describe();
    EXPECT_EQ(gpu.complaint(), "") << what;
    EXPECT_EQ(gpu.leftovers(), "") << what;
    EXPECT_EQ(nccl.leftovers(), "") << what;
    EXPECT_GT(nccl.launches(), 0u) << what;
    EXPECT_EQ(nccl.registrations() > 0, seed == 1) << what;
    expectSameOutcome(host, cuda, what);
    expectPlannedTraffic(cuda);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NcclBits, ::testing::ValuesIn(ncclTrainings()));

/// The sums of NCCL's own order differ in their last bits. Only plans that have
/// them are compared, at three ranks: of two any order is the same.
TEST(NcclFast, IsNearTheHosts) {
  for (int64_t accumulate : {1, 2}) {
    Training training = digits(2, 3, accumulate);
    Outcome host = trainModel(training);
    training.target = "cuda:emulated";
    training.reduction = "nccl";
    emulator::Gpu gpu(1, 3);
    emulator::Nccl nccl(gpu);
    Outcome cuda = trainModel(training);
    EXPECT_EQ(gpu.complaint(), "");
    EXPECT_EQ(gpu.leftovers() + nccl.leftovers(), "");
    expectPlannedTraffic(cuda);
    size_t differ = 0;
    for (const auto &[name, values] : host.parameters) {
      const std::vector<float> &others = cuda.parameters[name];
      ASSERT_EQ(values.size(), others.size()) << name;
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], others[i], 1e-5) << name << " " << i;
        differ += values[i] != others[i];
      }
    }
    EXPECT_GT(differ, 0u) << "another order has other bits";
  }
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

class NcclFailure : public ::testing::Test {
protected:
  void SetUp() override {
    Training training = digits(3, 2, 1);
    training.target = "cuda:emulated";
    auto bytes = serializePlan(compilePlan(training)).value();
    loaded = parsePlan(bytes).value();
    options.steps = 2;
    options.deadline_seconds = 60;
    options.data = {std::string(ZEROGRAPH_MODELS) +
                    "/mlp-digits/batches.safetensors"};
    options.quiet = true;
    options.handle_interrupt = false;
    options.say = [this](const std::string &text) { said += text; };
  }

  /// The error of a run on GPUs that something is done to before.
  template <typename Prepare>
  std::string errorOf(const std::string &what, const Prepare &prepare) {
    emulator::Gpu gpu(1, 2);
    emulator::Nccl nccl(gpu);
    prepare(nccl);
    auto result = train(loaded, options);
    EXPECT_EQ(gpu.complaint(), "") << what;
    EXPECT_EQ(gpu.leftovers(), "") << what;
    EXPECT_EQ(nccl.leftovers(), "") << what;
    calls = nccl.calls();
    return result.ok() ? "" : std::string(result.status().message());
  }

  LoadedPlan loaded;
  TrainOptions options;
  std::string said;
  std::map<std::string, uint64_t> calls;
};

/// Calls whose failure is said, and that are done without.
const std::set<std::string> kSaid = {"ncclCommRegister",
                                     "ncclCommWindowRegister"};
/// Asked after each group, and then as often as there is time.
const std::string kPolled = "ncclCommGetAsyncError";

TEST_F(NcclFailure, EveryCallIsNamedAndLeavesNothing) {
  ASSERT_EQ(errorOf("", [](emulator::Nccl &) {}), "");
  std::map<std::string, uint64_t> counts = calls;
  EXPECT_GE(counts.size(), 14u);
  for (const auto &[function, count] : counts) {
    uint64_t last = function == kPolled ? counts["ncclGroupEnd"] : count;
    for (uint64_t number : {uint64_t(1), last}) {
      std::string what = function + " " + std::to_string(number);
      said.clear();
      std::string error = errorOf(
          what, [&](emulator::Nccl &nccl) { nccl.failCall(function, number); });
      // A look that falls into a call of kSaid ends that call alone.
      bool goes_on =
          kSaid.contains(function) || (function == kPolled && error.empty());
      EXPECT_THAT(goes_on ? said : error, HasSubstr(function)) << what;
      EXPECT_EQ(error.empty(), goes_on) << what << ": " << error;
    }
  }
}

/// Longer than a busy machine keeps a rank from running.
constexpr double kLate = 5;

/// The warm-up is three launches, and three in the arena.
TEST_F(NcclFailure, ARankThatDoesNotCome) {
  options.deadline_seconds = kLate;
  std::string error =
      errorOf("lost", [](emulator::Nccl &nccl) { nccl.lose(/*rank=*/1, 9); });
  expectSays(error, "finished nothing for 5 s", "(reduce_scatter", "rank ");
}

TEST_F(NcclFailure, ARankThatDoesNotConnect) {
  options.deadline_seconds = kLate;
  std::string error =
      errorOf("lost", [](emulator::Nccl &nccl) { nccl.lose(/*rank=*/1, 2); });
  expectSays(error, "connecting to all ranks", "finished nothing for 5 s");
}

TEST_F(NcclFailure, AnErrorThatNcclTellsLater) {
  std::string error = errorOf(
      "late", [](emulator::Nccl &nccl) { nccl.failLater(/*rank=*/0, 9); });
  expectSays(error, "rank 0");
  // Whichever asks first: who waits, or the next collective.
  EXPECT_THAT(error, AnyOf(HasSubstr("ncclCommGetAsyncError tells"),
                           HasSubstr("ncclGroupEnd: ")));
  expectSays(error, "made to fail");
}

} // namespace
} // namespace zerograph::testing
