//===- VerifyEvaluationTest.cpp - plans that evaluate between steps -------===//

#include "Faults.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/Validate.h"
#include "tests/support/Says.h"

namespace zerograph {
namespace {

constexpr int kMicro = 0, kUpdate = 1, kEvaluate = 2;

uint32_t named(const plan::Plan &plan, const char *name) {
  return testing::sliceNamed(plan, name);
}

/// Makes a step write a slice: its last access.
void redirect(plan::Plan &plan, int program, int index, const char *to) {
  plan::Step *changed = step(plan, index, program);
  plan::Access &access =
      *changed->mutable_accesses(changed->accesses_size() - 1);
  access.set_slice(named(plan, to));
  access.set_bytes(plan.slices(int(access.slice())).bytes());
}

TEST(VerifyEvaluation, IsSound) {
  plan::Plan plan = testing::evaluatingPlan();
  EXPECT_EQ(validatePlan(plan), absl::OkStatus());
  EXPECT_EQ(verifyPlan(plan), absl::OkStatus());
}

TEST(VerifyEvaluation, IsNoPartOfAStep) {
  plan::Plan plan = testing::evaluatingPlan();
  EXPECT_EQ(runsPerStep(plan, plan.programs(kEvaluate)), 0u);
  EXPECT_EQ(trafficOf(plan).all().saturated(),
            trafficOf(testing::localUnitPlan()).all().saturated());
  // One number of the other rank.
  EXPECT_EQ(evaluationTraffic(plan).scalar.saturated(), 8u);
  EXPECT_EQ(evaluationTraffic(plan).gather.saturated(), 0u);
  EXPECT_EQ(evaluationTraffic(testing::localUnitPlan()).all().saturated(), 0u);
}

TEST(VerifyEvaluation, TrainsNothing) {
  for (const char *state : {"a/param", "a/exp_avg", "buffers/param"}) {
    plan::Plan plan = testing::evaluatingPlan();
    plan::Step *evaluate = step(plan, 1, kEvaluate);
    *evaluate->add_accesses() = evaluate->accesses(4);
    redirect(plan, kEvaluate, 1, state);
    expectFault(plan, kEvaluationThatTrains, state);
  }
}

TEST(VerifyEvaluation, LeavesTheSumsOfGradients) {
  plan::Plan plan = testing::evaluatingPlan();
  plan::Step *evaluate = step(plan, 1, kEvaluate);
  *evaluate->add_accesses() = evaluate->accesses(4);
  redirect(plan, kEvaluate, 1, "a/grad");
  expectFault(plan, kWrongGradients, "a/grad");
}

TEST(VerifyEvaluation, ReducesNoGradients) {
  plan::Plan plan = testing::evaluatingPlan();
  plan::Step *reduce = plan.mutable_programs(kEvaluate)->add_steps();
  *reduce = *step(plan, 3, kMicro);
  reduce->clear_waits();
  reduce->add_waits(2);
  reduce->set_sequence(1);
  testing::stateFacts(plan);
  expectFault(plan, kEvaluationThatTrains, "reduces gradients");
}

TEST(VerifyEvaluation, AddsItsLossUpOnce) {
  plan::Plan plan = testing::evaluatingPlan();
  plan.mutable_programs(kEvaluate)->mutable_steps()->RemoveLast();
  expectFault(plan, kNoAgreement, "0 all_reduces of \"evaluate\" make",
              "the sum of evaluated losses");
  // A rank's own value is not that of all.
  plan = testing::evaluatingPlan();
  plan::Step *evaluate = step(plan, 1, kEvaluate);
  *evaluate->add_accesses() = evaluate->accesses(4);
  redirect(plan, kEvaluate, 1, "eval_loss");
  expectFault(plan, kNoAgreement, "micro-batch that is evaluated");
}

TEST(VerifyEvaluation, EachLossHasItsOwnPrograms) {
  // Training adds to the evaluated loss.
  plan::Plan plan = testing::evaluatingPlan();
  plan::Step *forward = step(plan, 1, kMicro);
  *forward->add_accesses() = step(plan, 1, kEvaluate)->accesses(4);
  redirect(plan, kMicro, 1, "eval_loss");
  expectFault(plan, kNoAgreement, "micro-batch that is evaluated");
  // An evaluation adds to that of training.
  plan = testing::evaluatingPlan();
  plan::Step *evaluate = step(plan, 1, kEvaluate);
  *evaluate->add_accesses() = evaluate->accesses(4);
  redirect(plan, kEvaluate, 1, "loss");
  expectFault(plan, kNoAgreement, "micro-batch that is trained on");
}

TEST(VerifyEvaluation, StandsBehindTraining) {
  plan::Plan plan = testing::evaluatingPlan();
  plan.mutable_programs()->SwapElements(kUpdate, kEvaluate);
  expectSays(validatePlan(plan),
             "the plan's programs are micro evaluate update");
  plan = testing::evaluatingPlan();
  plan.mutable_programs()->DeleteSubrange(0, 2);
  expectSays(validatePlan(plan), "the plan's programs are evaluate;");
}

TEST(VerifyEvaluation, HasASumOfF64) {
  plan::Plan plan = testing::evaluatingPlan();
  plan.clear_evaluation();
  expectSays(validatePlan(plan),
             "a program that evaluates, and no sum of its losses");
  plan = testing::evaluatingPlan();
  plan.mutable_programs()->RemoveLast();
  expectSays(validatePlan(plan),
             "no program that evaluates, and a sum of its losses");
  plan = testing::evaluatingPlan();
  plan.mutable_evaluation()->set_slice(named(plan, "loss"));
  plan.mutable_evaluation()->set_type(plan::F32);
  expectSays(validatePlan(plan),
             "the sum of evaluated losses is f32; expected f64");
}

TEST(VerifyEvaluation, CountsWhereTrainingCounts) {
  plan::Plan plan = testing::evaluatingPlan();
  *plan.mutable_loss_count() = plan.evaluation();
  expectSays(validatePlan(plan), "the plan has no count of evaluated losses");
  plan = testing::evaluatingPlan();
  *plan.mutable_evaluation_count() = plan.evaluation();
  expectSays(validatePlan(plan), "the plan has a count of evaluated losses");
}

TEST(VerifyEvaluation, AddsUpOneTypeOfNumbers) {
  // A kernel that reads the sum, an f64, as two f32.
  plan::Plan plan = testing::evaluatingPlan();
  plan::Step *update = step(plan, 1, kUpdate);
  plan::Access read = update->accesses(0);
  read.set_slice(named(plan, "eval_loss"));
  read.set_bytes(8);
  *update->add_accesses() = read;
  testing::stateFacts(plan);
  plan::Kernel &kernel = *plan.mutable_kernels(int(update->launch().kernel()));
  kernel.mutable_operands(kernel.operands_size() - 1)->set_type(plan::F32);
  expectSays(verifyPlan(plan),
             "(eval_loss) for f32, the sum of evaluated losses for f64");
}

} // namespace
} // namespace zerograph
