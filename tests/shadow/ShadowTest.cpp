//===- ShadowTest.cpp - what verify refuses does go wrong -----------------===//
//
// Compiled plans run on shadow devices, whose streams pause at random: nothing
// is found and the bits are those of a plain run. Mutants that verify refuses
// run there too: a good part of them is found reading what is not theirs, or
// ends with other bits. Not all: a wait can be missing without being missed.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Verify.h"
#include "tests/e2e/Harness.h"
#include "tests/mutations/Mutation.h"
#include "tests/shadow/ShadowMemory.h"
#include "tests/shadow/ShadowRun.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

namespace zerograph::testing {
namespace {

constexpr int kSteps = 2;

Training make(const char *model, int64_t stage) {
  Training training{model, "model.onnx", "adamw", 2, stage};
  training.micro_batch = 2;
  return training;
}

void expectClean(const Training &training, uint64_t seeds) {
  plan::Plan plan = compilePlan(training);
  auto plain = runPlan(plan, dataOf(training), kSteps, std::nullopt);
  ASSERT_TRUE(plain.ok()) << training.describe() << ": " << plain.status();
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    auto hash = runPlan(plan, dataOf(training), kSteps, seed);
    ASSERT_TRUE(hash.ok()) << training.describe() << ": " << hash.status();
    EXPECT_EQ(*hash, *plain) << training.describe() << " seed " << seed;
  }
}

TEST(Shadow, MlpRunsClean) {
  for (int64_t stage = 0; stage < 4; ++stage) {
    expectClean(make("mlp-digits", stage), 5);
  }
}

TEST(Shadow, NanoRunsClean) {
  for (int64_t stage = 0; stage < 4; ++stage) {
    expectClean(make("gpt2-nano", stage), 3);
  }
}

TEST(Shadow, ResnetRunsClean) {
  Training training = make("resnet-mini", 1);
  training.file = "model_ts.onnx";
  expectClean(training, 2);
}

TEST(Shadow, DropoutRunsClean) {
  Training training = make("gpt2-nano-dropout", 3);
  training.settings = "gpt2-nano";
  expectClean(training, 2);
}

TEST(Shadow, AccumulatingAndSegmentsRunClean) {
  Training training = make("gpt2-nano", 3);
  training.accumulate = 2;
  training.bucket_bytes = 100000;
  training.prefetch = 3;
  expectClean(training, 2);
}

/// The outcomes of mutants of a kind.
struct Count {
  int tried = 0, found = 0, other_bits = 0, crashed = 0, passed = 0;
  /// By something else than the shadow memory.
  int refused = 0;
  int failed() const { return found + other_bits + crashed; }
};

enum { kSameBits, kOtherBits, kFound, kRefused };

int fate(const plan::Plan &plan, const std::string &data, uint64_t seed,
         uint64_t right) {
  auto hash = runPlan(plan, data, kSteps, seed);
  if (!hash.ok()) {
    bool by_shadow =
        hash.status().message().find(kShadowFound) != absl::string_view::npos;
    return by_shadow ? kFound : kRefused;
  }
  return *hash == right ? kSameBits : kOtherBits;
}

TEST(Shadow, MutantsGoWrong) {
  // Steps that a device runs: sizes and kinds of operations stay as they were.
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"waits", "dropped"},
      {"waits", "moved later"},
      {"waits", "for an earlier step"},
      {"waits", "for another stream"},
      {"streams", "one that is not ordered"},
      {"streams", "one of its own"},
      {"dropped", "launch or library call"},
      {"dropped", "gather"},
      {"dropped", "reduction"},
      {"misplaced", "before what it reads"},
      {"misplaced", "gather of stale data"},
      {"misplaced", "reduction before the last gradients"},
      {"operands", "of another unit in an update"},
      {"offsets", "onto a live buffer"},
      {"offsets", "onto a carried one"}};
  std::vector<Mutation> mutations;
  for (auto list :
       {orderMutations, stepMutations, operandMutations, memoryMutations}) {
    for (Mutation &mutation : list()) {
      if (std::count(kinds.begin(), kinds.end(),
                     std::pair<std::string, std::string>(mutation.kind,
                                                         mutation.name))) {
        mutations.push_back(mutation);
      }
    }
  }
  ASSERT_EQ(mutations.size(), kinds.size());
  std::vector<Count> counts(mutations.size());
  uint64_t seed = 1000;
  for (const Training &training :
       {make("mlp-digits", 1), make("mlp-digits", 3), make("gpt2-nano", 0),
        make("gpt2-nano", 3)}) {
    plan::Plan original = compilePlan(training);
    std::string data = dataOf(training);
    auto right = runPlan(original, data, kSteps, std::nullopt).value();
    int tries = training.model == "gpt2-nano" ? 1 : 2;
    for (size_t m = 0; m < mutations.size(); ++m) {
      for (int i = 0; i < tries; ++i) {
        Random random(++seed);
        plan::Plan plan = original;
        std::optional<std::string> change = mutations[m].apply(plan, random);
        if (!change) {
          continue;
        }
        EXPECT_FALSE(verifyPlan(plan).ok()) << *change;
        Count &count = counts[m];
        ++count.tried;
        std::optional<int> result =
            inChild([&] { return fate(plan, data, seed, right); }, 30);
        ++(!result                 ? count.crashed
           : *result == kFound     ? count.found
           : *result == kRefused   ? count.refused
           : *result == kOtherBits ? count.other_bits
                                   : count.passed);
      }
    }
  }
  Count all;
  std::printf("%-10s %-36s %5s %5s %10s %7s %9s\n", "kind", "mutation", "tried",
              "found", "other bits", "crashed", "same bits");
  for (size_t m = 0; m < mutations.size(); ++m) {
    const Count &count = counts[m];
    std::printf("%-10s %-36s %5d %5d %10d %7d %9d\n", mutations[m].kind,
                mutations[m].name, count.tried, count.found, count.other_bits,
                count.crashed, count.passed);
    all.tried += count.tried;
    all.found += count.found;
    all.other_bits += count.other_bits;
    all.crashed += count.crashed;
  }
  std::printf("%d of %d mutants went wrong\n", all.failed(), all.tried);
  EXPECT_GT(all.tried, 60);
  EXPECT_GT(2 * all.failed(), all.tried);
  // By the memory itself, not by a crash or by what the bits show anyway.
  EXPECT_GT(all.found, 20);
}

} // namespace
} // namespace zerograph::testing
