//===- NonfiniteTest.cpp - what names a value that is not finite ----------===//

#include "InOrderDevice.h"
#include "LinearPlan.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/exec/Trainer.h"
#include "tests/support/Says.h"
#include "tests/support/Threads.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

using Floats = std::vector<float>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// One step of linearPlan: y = x * w[0..64), the gradient of w[i] is
/// x[i % 16] * (1 + i / 1000), of 500 parameters and 2572 elements of padding.
struct OneStep {
  LinearOptions linear;
  /// x of rank, micro-batch; each of 16 elements.
  std::function<Floats(unsigned, uint64_t)> x = [](unsigned, uint64_t) {
    return Floats(16, 1);
  };
  float w = 0;
  std::function<void(plan::Plan &)> change = [](plan::Plan &) {};
  double rate = 0.125;
  const Machine *machine = nullptr;

  /// Returns what each rank's step gave.
  std::vector<absl::Status> statuses() const;
  absl::Status rank(const LoadedPlan &loaded, HostCommunicator &comm,
                    std::unique_ptr<Trainer> &trainer) const;
};

class StepBatch final : public Batch {
public:
  StepBatch(const OneStep &run, unsigned rank) : run(run), rank(rank) {}
  absl::Status read(uint64_t micro_batch, int, void *to,
                    uint64_t bytes) const override {
    Floats x = run.x(rank, micro_batch);
    std::memcpy(to, x.data(), bytes);
    return absl::OkStatus();
  }

private:
  const OneStep &run;
  unsigned rank;
};

absl::Status OneStep::rank(const LoadedPlan &loaded, HostCommunicator &comm,
                           std::unique_ptr<Trainer> &trainer) const {
  TrainerOptions options;
  options.machine = machine;
  options.threads = 2;
  options.learning_rate = rate;
  options.debug_nonfinite = true;
  options.collectives = &comm;
  options.control = &comm;
  ZG_ASSIGN_OR_RETURN(trainer, Trainer::create(loaded, options));
  for (const ParameterPart &part : trainer->state()) {
    if (part.state->role() == "param") {
      Floats values(part.count, w);
      ZG_RETURN_IF_ERROR(part.bytes.write(values.data()));
    }
  }
  return trainer->step(StepBatch(*this, comm.rank())).status();
}

std::vector<absl::Status> OneStep::statuses() const {
  LoadedPlan loaded = linearPlan(linear);
  change(loaded.plan);
  LocalGroupOptions options;
  options.world = linear.world;
  auto group = makeLocalGroup(options);
  std::vector<std::unique_ptr<Trainer>> trainers(group.size());
  std::vector<absl::Status> result(group.size());
  onThreads(group.size(), [&](unsigned r) {
    result[r] = rank(loaded, *group[r], trainers[r]);
  });
  return result;
}

std::string messageOf(const OneStep &run) {
  return std::string(run.statuses()[0].message());
}

TEST(Nonfinite, WhatIsFinitePasses) {
  for (uint32_t world : {1u, 2u}) {
    for (uint32_t stage : {1u, 3u}) {
      for (uint32_t accumulate : {1u, 2u}) {
        OneStep run{{world, stage, accumulate, false}};
        for (const absl::Status &status : run.statuses()) {
          EXPECT_TRUE(status.ok()) << status;
        }
      }
    }
  }
}

TEST(Nonfinite, AnInputIsNamedWithItsSample) {
  OneStep run{{1, 1, 2, false}};
  run.x = [](unsigned, uint64_t k) {
    Floats x(16, 1);
    x[11] = k == 1 ? kNan : 1;
    return x;
  };
  expectSays(messageOf(run), "micro-batch 1: step 0 of \"micro\" (copy_in",
             "element 11 of the 16 of input 'x' (f32) is NaN",
             "it reached the loss as NaN",
             "look at sample 1 of the micro-batch");
}

/// A product makes infinity of finite numbers, and the loss is infinite.
TEST(Nonfinite, TheFirstStepIsNamed) {
  OneStep run{{1, 3, 1, false}};
  run.w = 2;
  run.x = [](unsigned, uint64_t) { return Floats(16, 3e38f); };
  expectSays(messageOf(run), "of \"step\" (matmul, product)",
             "element 0 of the 16 of 'y' (f32) is inf, the "
             "first value that is not finite",
             "it reached the loss as inf. It adds up what is "
             "too large");
}

/// The gradient overflows where i >= 432, the loss does not.
TEST(Nonfinite, GradientsAreNamedByTheirParameter) {
  OneStep run{{1, 1, 1, false}};
  run.x = [](unsigned, uint64_t) { return Floats(16, 2.378e38f); };
  expectSays(messageOf(run), "(launch, linear_gradient)",
             "of the 500 of the gradient of 'w' (f32) is inf, "
             "the first value that is not finite. The step "
             "computes 'linear_gradient'");
}

/// The padding lies after the 500 parameters: 1.8e38 * (1 + i / 1000) is
/// infinite from 891 on.
TEST(Nonfinite, PaddingIsNothing) {
  for (uint32_t world : {1u, 2u}) {
    OneStep run{{world, 3, 1, false}};
    run.rate = 0;
    run.x = [](unsigned rank, uint64_t) {
      return Floats(16, rank == 0 ? 1.8e38f : 0);
    };
    for (const absl::Status &status : run.statuses()) {
      EXPECT_TRUE(status.ok()) << status;
    }
  }
}

Machine inOrder(const LinearOptions &linear) {
  Machine machine;
  machine.driver = makeInOrderDriver();
  auto module = machine.driver->load(linearPlan(linear).plan, {});
  EXPECT_TRUE(module.ok()) << module.status();
  machine.module = *std::move(module);
  return machine;
}

/// Steps of such gradients are skipped; an infinite loss is not their doing.
TEST(Nonfinite, GradientsMayOverflowWhereStepsAreSkipped) {
  OneStep run{{1, 1, 2, false}};
  Machine machine = inOrder(run.linear); // of a plan that is verified
  run.machine = &machine;
  run.change = [](plan::Plan &plan) {
    plan.set_skip_nonfinite(true);
    for (plan::Step &step : *plan.mutable_programs(1)->mutable_steps()) {
      if (step.has_launch()) { // one that skips
        plan::Access parameters = step.accesses(3);
        step.clear_accesses();
        *step.add_accesses() = parameters;
        step.mutable_accesses(0)->set_mode(plan::WRITE);
        step.mutable_fill();
      }
    }
  };
  run.x = [](unsigned, uint64_t) { return Floats(16, 2.378e38f); };
  EXPECT_EQ(messageOf(run), "");
  run.w = 2;
  expectSays(messageOf(run), "it reached the loss");
}

TEST(Nonfinite, TheRankIsNamedByItsErrorAlone) {
  for (unsigned bad = 0; bad < 2; ++bad) {
    OneStep run{{2, 3, 1, false}};
    run.w = 2;
    run.x = [&](unsigned rank, uint64_t) {
      return Floats(16, rank == bad ? 3e38f : 1);
    };
    std::vector<absl::Status> statuses = run.statuses();
    expectSays(statuses[bad], "product");
    EXPECT_TRUE(absl::IsCancelled(statuses[1 - bad])) << statuses[1 - bad];
    expectSays(statuses[1 - bad], absl::StrCat("rank ", bad));
  }
}

TEST(Nonfinite, TheUpdateIsNamed) {
  OneStep run{{1, 1, 2, false}};
  run.rate = 3e38;
  run.x = [](unsigned, uint64_t) { return Floats(16, 8); };
  expectSays(messageOf(run), "of \"update\" (launch, linear_update)",
             "of the 500 of parameter 'w' (f32) is -inf", "give a lower --lr");
}

/// Also where it is a part of the one program.
TEST(Nonfinite, TheUpdateOfAWholeStepIsNamed) {
  OneStep run{{2, 3, 1, false}};
  run.rate = 3e38;
  run.x = [](unsigned, uint64_t) { return Floats(16, 8); };
  // Elements 0 to 499 are rank 0's.
  expectSays(messageOf(run), "of \"step\" (launch, linear_update)",
             "give a lower --lr");
}

TEST(Nonfinite, ParametersThatBeginSoAreNamed) {
  OneStep run{{1, 1, 1, false}};
  run.w = kNan;
  expectSays(messageOf(run), "before the first step element 0 of the 500 of "
                             "parameter 'w' (its \"param\") is NaN");
  run.w = -kInfinity;
  expectSays(messageOf(run), "is -inf: give other weights");
}

/// Any device can be told to stop after each step.
TEST(Nonfinite, ADeviceThatIssuesInOrder) {
  OneStep run{{1, 3, 1, false}};
  Machine machine = inOrder(run.linear);
  run.machine = &machine;
  run.w = 2;
  run.x = [](unsigned, uint64_t) { return Floats(16, 3e38f); };
  expectSays(messageOf(run), "(matmul, product)");
}

} // namespace
