//===- VerifyAgreementTest.cpp - seeded faults in what ranks agree on -----===//

#include "Faults.h"

namespace zerograph {
namespace {

/// A carried f64 after all others.
uint32_t addNumber(plan::Plan &plan, const char *name) {
  plan::Slice *slice = plan.add_slices();
  slice->set_name(name);
  slice->set_slice_class(plan::SCALAR);
  slice->set_carried(true);
  slice->set_bytes(8);
  slice->set_offset(plan.arenas(0).bytes());
  plan.mutable_arenas(0)->set_bytes(slice->offset() + 64);
  return uint32_t(plan.slices_size()) - 1;
}

TEST(Verify, RanksAgreeOnTheNorm) {
  plan::Plan plan = testing::stageThreePlan();
  plan.set_gradient_norm(addNumber(plan, "norm"));
  plan::Access norm;
  norm.set_slice(plan.gradient_norm());
  norm.set_bytes(8);
  norm.set_mode(plan::WRITE);
  // A norm of this rank's shards alone.
  *step(plan, 12)->add_accesses() = norm;
  testing::stateFacts(plan);
  expectFault(plan, kMissingGather, "norm");
  // A norm of this rank's samples.
  plan = testing::stageThreePlan();
  norm.set_slice(addNumber(plan, "norm"));
  plan.set_gradient_norm(norm.slice());
  *step(plan, 5)->add_accesses() = norm;
  testing::stateFacts(plan);
  expectFault(plan, kNoAgreement, "from values of this rank only");
}

TEST(Verify, RanksAgreeOnTheNormOfOneStep) {
  plan::Plan plan = testing::stageThreePlan();
  plan.set_gradient_norm(addNumber(plan, "norm"));
  testing::stateFacts(plan);
  expectFault(plan, kNoAgreement, "0 steps of ", "the norm of gradients");
}

TEST(Verify, RanksAgreeOnWhatLossesCount) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Total &count = *plan.mutable_loss_count();
  count.set_type(plan::F64);
  count.set_slice(addNumber(plan, "count"));
  count.add_axes(0);
  testing::stateFacts(plan);
  expectFault(plan, kNoAgreement, "0 all_reduces", "the count of losses");
}

TEST(Verify, RanksAgreeOnLossAndStop) {
  // The sums of the loss and of the flag, one after the other, go.
  for (int pair : {0, 1}) {
    for (plan::Plan plan :
         {testing::stageThreePlan(), testing::accumulatingPlan()}) {
      int sum = plan.programs_size() == 1 ? 10 : 4;
      step(plan, sum)->mutable_accesses()->DeleteSubrange(2 * pair, 2);
      testing::stateFacts(plan);
      expectFault(plan, kNoAgreement, "0 all_reduces",
                  pair == 0 ? "the loss" : "the sum of stop flags");
    }
  }
  // The flag that the runtime sets on each rank; a slice that nothing sums.
  plan::Plan plan = testing::stageThreePlan();
  plan.mutable_stop()->set_slice(
      testing::sliceNamed(plan, "stop of this rank"));
  expectFault(plan, kInvalidTotal, "stop of this rank");
  plan = testing::stageThreePlan();
  plan.mutable_stop()->set_slice(testing::sliceNamed(plan, "learning_rate"));
  expectFault(plan, kInvalidTotal, "learning_rate");
  // The two sources swapped; the sum made twice, or overwritten.
  plan = testing::stageThreePlan();
  step(plan, 10)->mutable_accesses(0)->Swap(
      step(plan, 10)->mutable_accesses(2));
  expectFault(plan, kNoAgreement, "expected the scalar \"stop\"");
  expectFault(plan, kNoAgreement, "expected the loss of this rank");
  plan = testing::stageThreePlan();
  plan::Step again = plan.programs(0).steps(10);
  again.set_sequence(5);
  *plan.mutable_programs(0)->add_steps() = again;
  testing::stateFacts(plan);
  expectFault(plan, kNoAgreement, "2 all_reduces", "the sum of stop flags");
  plan = testing::stageThreePlan();
  *step(plan, 12)->add_accesses() = again.accesses(3);
  step(plan, 12)->add_waits(10);
  expectFault(plan, kNoAgreement, "update a");
  plan = testing::stageThreePlan();
  // The type that is declared is the one that is summed.
  plan.mutable_slices(int(plan.loss().slice()))->set_bytes(8);
  plan.mutable_loss()->set_type(plan::F64);
  expectFault(plan, kWrongType, "the loss for f64");
  // A rank that is alone may make them as it likes, but must.
  plan = testing::stageThreePlan();
  plan.mutable_loss()->clear_axes();
  expectFault(plan, kNoAgreement, "over other ranks");
  expectFault(plan, kNoAgreement, "over groups of 1 ranks", "expected all 2");
}

TEST(Verify, TheStopFlagIsTheRanksOwn) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Access flag = step(plan, 10)->accesses(2);
  *step(plan, 12)->add_accesses() = flag;
  expectFault(plan, kGradientsNotReduced, "stop of this rank");
}

} // namespace
} // namespace zerograph
