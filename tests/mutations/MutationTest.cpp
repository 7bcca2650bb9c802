//===- MutationTest.cpp - wrong plans are refused for what is wrong -------===//
//
// Compiled plans are changed, each in one way, and written again with a right
// hash. Reading, verifying or loading must refuse each of them, and name a
// cause that fits the change.
//
//===----------------------------------------------------------------------===//

#include "tests/mutations/Mutation.h"
#include "runtime/device/host/ConvolutionLibrary.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/device/host/MatmulLibrary.h"
#include "runtime/device/host/TargetCheck.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Verify.h"
#include "tests/e2e/Harness.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

namespace zerograph::testing {
namespace {

constexpr int kSeeds = 3; // of each mutation and plan
constexpr uint64_t kFewest = 300;

std::vector<Training> trainings() {
  auto make = [](const char *model, const char *run, int64_t ranks,
                 int64_t stage, int64_t accumulate = 1) {
    Training training{model, "model.onnx", run, ranks, stage};
    training.accumulate = accumulate;
    training.micro_batch = 2;
    return training;
  };
  std::vector<Training> all = {
      make("mlp-digits", "adamw", 1, 0),
      make("mlp-digits", "sgd_momentum", 2, 0),
      make("mlp-digits", "sgd", 3, 2, 2),
      make("gpt2-nano", "adamw", 2, 1),
      make("gpt2-nano", "adamw", 2, 3),
      make("gpt2-nano", "adamw", 4, 2, 2),
      make("gpt2-nano", "adamw", 2, 3, 2),
      make("gpt2-nano-dropout", "adamw", 2, 2),
      make("resnet-mini", "adamw", 2, 1),
  };
  all.back().file = "model_ts.onnx";
  all[7].settings = "gpt2-nano";
  all[4].bucket_bytes = 100000; // several segments a unit
  all[4].persistence_threshold = 1000;
  all[5].gradients = true;
  return all;
}

/// Binds the library's calls, which run on none of these addresses.
absl::Status bindLibraryCalls(const plan::Plan &plan) {
  void *const none = reinterpret_cast<void *>(4096);
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      uint64_t scratch =
          step.accesses_size() == 4 ? step.accesses(3).bytes() : 0;
      if (step.has_matmul()) {
        ZG_RETURN_IF_ERROR(
            bindMatmul(step.matmul(), none, none, none, none, scratch)
                .status());
      }
      if (step.has_convolution()) {
        ZG_RETURN_IF_ERROR(
            bindConvolution(step.convolution(), none, none, none, none, scratch)
                .status());
      }
    }
  }
  return absl::OkStatus();
}

/// All that stands between a file and a run.
absl::Status load(const plan::Plan &plan) {
  ZG_ASSIGN_OR_RETURN(std::string bytes, serializePlan(plan));
  ZG_ASSIGN_OR_RETURN(LoadedPlan loaded, parsePlan(bytes));
  ZG_RETURN_IF_ERROR(verifyPlan(loaded.plan));
  ZG_RETURN_IF_ERROR(checkTarget(loaded.plan.target()));
  ZG_RETURN_IF_ERROR(loadKernelModule(loaded.plan).status());
  return bindLibraryCalls(loaded.plan);
}

std::vector<Mutation> allMutations() {
  std::vector<Mutation> all;
  for (auto list :
       {orderMutations, stepMutations, operandMutations, libraryMutations,
        memoryMutations, unitMutations, headerMutations}) {
    std::vector<Mutation> some = list();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

struct Count {
  uint64_t tried = 0, refused = 0;
  std::map<std::string, uint64_t> causes;
};

TEST(Mutations, AreRefusedForWhatIsWrong) {
  std::vector<Mutation> mutations = allMutations();
  std::vector<Count> counts(mutations.size());
  uint64_t seed = 0;
  for (const Training &training : trainings()) {
    plan::Plan original = compilePlan(training);
    absl::Status sound = load(original);
    ASSERT_TRUE(sound.ok()) << training.describe() << ": " << sound;
    for (size_t m = 0; m < mutations.size(); ++m) {
      const Mutation &mutation = mutations[m];
      for (int i = 0; i < kSeeds; ++i) {
        Random random(++seed);
        plan::Plan plan = original;
        std::optional<std::string> change = mutation.apply(plan, random);
        if (!change) {
          continue;
        }
        std::string what =
            absl::StrCat(mutation.kind, ", ", mutation.name, ", seed ", seed,
                         ": ", *change, " in ", training.describe());
        ++counts[m].tried;
        absl::Status status = load(plan);
        if (status.ok()) {
          ADD_FAILURE() << what << " was not noticed";
          continue;
        }
        ++counts[m].refused;
        std::string message(status.message());
        auto cause =
            std::find_if(mutation.causes.begin(), mutation.causes.end(),
                         [&](const std::string &text) {
                           return message.find(text) != std::string::npos;
                         });
        if (cause == mutation.causes.end()) {
          ADD_FAILURE() << what
                        << " was refused with: " << message.substr(0, 500);
        } else {
          ++counts[m].causes[*cause];
        }
      }
    }
  }
  uint64_t tried = 0, refused = 0;
  std::printf("%-14s %-36s %5s %7s  causes\n", "kind", "mutation", "tried",
              "refused");
  for (size_t m = 0; m < mutations.size(); ++m) {
    const Count &count = counts[m];
    std::printf("%-14s %-36s %5zu %7zu ", mutations[m].kind, mutations[m].name,
                size_t(count.tried), size_t(count.refused));
    for (const auto &[cause, times] : count.causes) {
      std::printf(" [%s] %zu", cause.c_str(), size_t(times));
    }
    std::printf("\n");
    EXPECT_GT(count.tried, 0u) << mutations[m].name << ": no plan has a place";
    tried += count.tried;
    refused += count.refused;
  }
  std::printf("%zu mutants of %zu kinds, %zu refused\n", size_t(tried),
              mutations.size(), size_t(refused));
  EXPECT_GE(tried, kFewest);
}

} // namespace
} // namespace zerograph::testing
