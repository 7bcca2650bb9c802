//===- MutationTest.cpp - wrong plans are refused for what is wrong -------===//
//
// Compiled plans are changed, each in one way, and written again with a right
// hash. Reading, verifying or loading must refuse each of them, for a finding
// that fits the change.
//
//===----------------------------------------------------------------------===//

#include "tests/mutations/Mutation.h"
#include "runtime/device/host/ConvolutionLibrary.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/device/host/MatmulLibrary.h"
#include "runtime/device/host/TargetCheck.h"
#include "runtime/plan/Matrices.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Verify.h"
#include "tests/e2e/Harness.h"

#include "absl/strings/match.h"
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
      make("resnet-mini", "adamw", 2, 3),
  };
  // Plans that gather gradients, which are carried or reduced last.
  for (bool last : {false, true}) {
    all.push_back(make("mlp-digits", "adamw", 2, 0, 2));
    all.back().reduce = last ? "last" : "each";
  }
  // Plans with what the host updates, and keeps.
  for (auto [ranks, stage, accumulate] :
       {std::tuple(1, 0, 1), std::tuple(2, 1, 1), std::tuple(2, 3, 2)}) {
    all.push_back(make("gpt2-nano", "adamw", ranks, stage, accumulate));
    all.back().precision = stage == 3 ? "bf16" : "fp32";
    all.back().also = [stage = stage](CompileOptions &options) {
      options.offload_optimizer = "cpu";
      options.offload_param = stage == 3 ? "cpu" : "none";
    };
  }
  // And what lies in a file.
  all.push_back(make("gpt2-nano", "adamw", 2, 2));
  all.back().also = [](CompileOptions &options) {
    options.offload_optimizer = "nvme";
  };
  all.push_back(make("gpt2-nano", "adamw", 2, 3));
  all.back().precision = "bf16";
  all.back().also = [](CompileOptions &options) {
    options.offload_optimizer = options.offload_param = "nvme";
  };
  all.push_back(make("gpt2-nano", "adamw", 2, 2));
  all.back().accumulate = 2;
  all.back().also = [](CompileOptions &options) {
    options.offload_optimizer = options.offload_gradients = "cpu";
  };
  all.push_back(make("gpt2-nano", "adamw", 2, 3));
  all.back().accumulate = 2;
  all.back().also = [](CompileOptions &options) {
    options.offload_optimizer = options.offload_gradients = "nvme";
  };
  all.push_back(make("gpt2-nano", "adamw", 1, 0));
  all.back().accumulate = 2;
  all.back().also = [](CompileOptions &options) {
    options.offload_optimizer = options.offload_gradients = "nvme";
  };
  all[8].file = all[9].file = "model_ts.onnx";
  all[7].settings = "gpt2-nano";
  all[4].bucket_bytes = 100000; // several segments a unit
  all[4].persistence_threshold = 1000;
  all[5].gradients = true;
  all[0].evaluates = all[4].evaluates = all[6].evaluates = true;
  all[9].evaluates = true;
  return all;
}

/// Binds the library's calls, which run on none of these addresses.
absl::Status bindLibraryCalls(const plan::Plan &plan) {
  void *const none = reinterpret_cast<void *>(4096);
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      int operands = scratchAccess(step.matmul());
      uint64_t scratch =
          step.accesses_size() > operands ? step.accesses(operands).bytes() : 0;
      if (step.has_matmul()) {
        ZG_RETURN_IF_ERROR(
            bindMatmul(step.matmul(), {none, none, none, none}, none, scratch)
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
  ZG_RETURN_IF_ERROR(checkTarget(loaded.plan.devices(0)));
  ZG_RETURN_IF_ERROR(loadKernelModule(loaded.plan).status());
  return bindLibraryCalls(loaded.plan);
}

std::vector<Mutation> allMutations() {
  std::vector<Mutation> all;
  for (auto list :
       {orderMutations, stepMutations, operandMutations, libraryMutations,
        memoryMutations, unitMutations, headerMutations, arrivalMutations}) {
    std::vector<Mutation> some = list();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// A mutation of steps of one kind, or of any.
struct Claim {
  const Mutation *mutation;
  std::string kind;
  uint64_t tried = 0;
  std::map<absl::string_view, uint64_t> refused = {}; // by id

  void check(const plan::Plan &original, const std::string &of, uint64_t seed);
};

void Claim::check(const plan::Plan &original, const std::string &of,
                  uint64_t seed) {
  Random random(seed, kind);
  plan::Plan plan = original;
  std::optional<std::string> change = mutation->apply(plan, random);
  if (!change) {
    return;
  }
  std::string what =
      absl::StrCat(mutation->kind, ", ", mutation->name, " ", kind, ", seed ",
                   seed, ": ", *change, " in ", of);
  ++tried;
  absl::Status status = load(plan);
  std::string message(status.message());
  auto id = std::find_if(
      mutation->ids.begin(), mutation->ids.end(),
      [&](absl::string_view each) { return absl::StrContains(message, each); });
  if (status.ok()) {
    ADD_FAILURE() << what << " was not noticed";
  } else if (id == mutation->ids.end()) {
    ADD_FAILURE() << what << " was refused with: " << message.substr(0, 500);
  } else {
    ++refused[*id];
  }
}

std::vector<Claim> claimsOf(const std::vector<Mutation> &mutations) {
  std::vector<Claim> claims;
  for (const Mutation &mutation : mutations) {
    if (mutation.kinds.empty()) {
      claims.push_back({&mutation, ""});
    }
    for (const char *kind : mutation.kinds) {
      claims.push_back({&mutation, kind});
    }
  }
  return claims;
}

// Dumped gradients are carried to where they are read, and begin anew.
TEST(Mutations, NothingIsAddedToDumpedGradients) {
  Training training = trainings()[4];
  training.gradients = true;
  plan::Plan plan = compilePlan(training);
  for (plan::Step &step : *plan.mutable_programs(0)->mutable_steps()) {
    if (step.has_reduce_scatter()) {
      step.mutable_reduce_scatter()->set_accumulate(true);
      step.mutable_accesses(1)->set_mode(plan::READ_WRITE);
      break;
    }
  }
  EXPECT_TRUE(absl::StrContains(load(plan).message(), kGradientsNotZeroed))
      << load(plan);
}

TEST(Mutations, AreRefusedForWhatIsWrong) {
  std::vector<Mutation> mutations = allMutations();
  std::vector<Claim> claims = claimsOf(mutations);
  uint64_t seed = 0; // of a training, the same for all claims
  for (const Training &training : trainings()) {
    plan::Plan original = compilePlan(training);
    absl::Status sound = load(original);
    ASSERT_TRUE(sound.ok()) << training.describe() << ": " << sound;
    EXPECT_EQ(findWaste(original)->size(), 0u) << training.describe();
    for (Claim &claim : claims) {
      for (int i = 0; i < (claim.kind.empty() ? kSeeds : 1); ++i) {
        claim.check(original, training.describe(), seed + i);
      }
    }
    seed += kSeeds;
  }
  uint64_t tried = 0;
  std::printf("%-14s %-32s %-14s %5s  ids\n", "about", "mutation",
              "kind of step", "tried");
  for (const Claim &claim : claims) {
    std::printf("%-14s %-32s %-14s %5zu ", claim.mutation->kind,
                claim.mutation->name, claim.kind.c_str(), size_t(claim.tried));
    for (const auto &[id, times] : claim.refused) {
      std::printf(" [%s] %zu", std::string(id).c_str(), size_t(times));
    }
    std::printf("\n");
    EXPECT_GT(claim.tried, 0u)
        << claim.mutation->name << " " << claim.kind << ": no plan has a place";
    tried += claim.tried;
  }
  std::printf("%zu mutants for %zu claims of %zu kinds\n", size_t(tried),
              claims.size(), mutations.size());
  EXPECT_GE(tried, kFewest);
}

} // namespace
} // namespace zerograph::testing
