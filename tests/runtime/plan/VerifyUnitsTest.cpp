//===- VerifyUnitsTest.cpp - seeded faults in what ranks do with units ----===//
//
// Gathers, reductions, sums over micro-batches, and updates.
//
//===----------------------------------------------------------------------===//

#include "Faults.h"

namespace zerograph {
namespace {

// Removes a step, and every wait for it; later waits move.
void removeStep(plan::Plan &plan, int index, int program = 0) {
  plan::Program *in = plan.mutable_programs(program);
  in->mutable_steps()->DeleteSubrange(index, 1);
  uint32_t sequence = 0;
  for (plan::Step &step : *in->mutable_steps()) {
    std::vector<uint32_t> waits(step.waits().begin(), step.waits().end());
    step.clear_waits();
    for (uint32_t wait : waits) {
      if (int(wait) != index) {
        step.add_waits(int(wait) > index ? wait - 1 : wait);
      }
    }
    if (step.has_all_gather() || step.has_reduce_scatter() ||
        step.has_all_reduce()) {
      step.set_sequence(sequence++);
    }
  }
  testing::stateFacts(plan);
}

/// Adds a buffer for what state `role` of unit "a" holds, and returns its
/// number.
uint32_t addBuffer(plan::Plan &plan, const std::string &role) {
  plan::Slice *slice = plan.add_slices();
  *slice = plan.slices(int(testing::sliceNamed(plan, "a/" + role)));
  slice->set_name("buffer");
  slice->set_carried(false);
  slice->set_offset(plan.arenas(0).bytes());
  plan::UnitElements &held = *slice->mutable_holds();
  held.set_role(role);
  held.set_elements(slice->bytes() / 4);
  if (held.elements() < plan.units(0).elements()) {
    held.add_axes(0);
  }
  plan.mutable_arenas(0)->set_bytes(slice->offset() + slice->bytes());
  return uint32_t(plan.slices_size()) - 1;
}

TEST(Verify, MissingReduction) {
  plan::Plan plan = testing::stageThreePlan();
  removeStep(plan, 7);
  expectFault(plan, kMissingReduction, "unit 1 (b)");
  expectFault(plan, kReadBeforeItIsWritten, "update b");
  plan = testing::stageOnePlan();
  removeStep(plan, 3);
  expectFault(plan, kMissingReduction, "unit 0 (a)");
  expectFault(plan, kGradientsNotReduced, "update");
}

TEST(Verify, DoubledReduction) {
  plan::Plan plan = testing::stageThreePlan();
  *plan.mutable_programs(0)->add_steps() = plan.programs(0).steps(9);
  step(plan, 13)->set_sequence(5);
  step(plan, 13)->add_waits(12);
  testing::stateFacts(plan);
  expectFault(plan, kDoubledReduction, "reduce a");
}

TEST(Verify, LostMicroBatches) {
  plan::Plan plan = testing::accumulatingPlan();
  step(plan, 3)->mutable_reduce_scatter()->set_accumulate(false);
  step(plan, 3)->mutable_accesses(1)->set_mode(plan::WRITE);
  expectFault(plan, kLostGradients, "reduce a");
}

TEST(Verify, LateGradients) {
  // A launch that adds to gradients after their reduction.
  plan::Plan plan = testing::stageOnePlan();
  plan::Step *late = step(plan, 5);
  *late->mutable_accesses(0) = step(plan, 2)->accesses(0);
  *late->add_accesses() = step(plan, 2)->accesses(2);
  testing::stateFacts(plan);
  expectFault(plan, kLateGradients, "update");
}

TEST(Verify, MissingGather) {
  // Ranks keep their own news of the parameters.
  plan::Plan plan = testing::stageOnePlan();
  removeStep(plan, 6);
  expectFault(plan, kMissingGather, "a/param");
  // Parameters are read between their update and their gather.
  plan = testing::stageOnePlan();
  plan::Step gather = plan.programs(0).steps(6);
  plan::Step again = plan.programs(0).steps(1);
  *step(plan, 6) = again;
  step(plan, 6)->add_waits(4);
  *plan.mutable_programs(0)->add_steps() = gather;
  step(plan, 7)->clear_waits();
  step(plan, 7)->add_waits(6);
  testing::stateFacts(plan);
  expectFault(plan, kMissingGather, "step 6");
}

TEST(Verify, MissingUpdate) {
  plan::Plan plan = testing::stageThreePlan();
  removeStep(plan, 12);
  expectFault(plan, kMissingUpdate, "unit 0 (a)");
}

TEST(Verify, FrozenAndEarlyWrites) {
  plan::Plan plan = testing::stageThreePlan();
  plan.mutable_units(0)->set_trainable(false);
  plan.mutable_units(0)->mutable_parameters(0)->set_trainable(false);
  expectFault(plan, kFrozenState, "update a");
  plan = testing::accumulatingPlan();
  step(plan, 2)->add_accesses()->CopyFrom(step(plan, 1, 1)->accesses(3));
  expectFault(plan, kEarlyUpdate, "backward");
}

// Each micro-batch makes all of what is the rank's own, once.
TEST(Verify, LocalUnits) {
  plan::Plan plan = testing::localUnitPlan();
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  removeStep(plan, 5);
  expectFault(plan, kMissingUpdate, "buffers.weight of unit 1 (buffers)");
  plan = testing::localUnitPlan();
  step(plan, 5)->mutable_accesses(1)->set_bytes(1024);
  expectFault(plan, kMissingUpdate, "bytes [1024, 2000)");
  plan = testing::localUnitPlan();
  *plan.mutable_programs(0)->add_steps() = plan.programs(0).steps(5);
  expectFault(plan, kDoubledUpdate, "statistics");
  plan = testing::localUnitPlan();
  *plan.mutable_programs(1)->add_steps() = plan.programs(0).steps(5);
  expectFault(plan, kLateUpdate, "statistics");
  plan = testing::localUnitPlan();
  for (plan::Access &access : *step(plan, 2, 1)->mutable_accesses()) {
    access.set_slice(testing::sliceNamed(plan, "buffers/param"));
  }
  expectFault(plan, kSharedStatistics, "which is each rank's own");
  // Nothing of them may reach what ranks share.
  plan = testing::localUnitPlan();
  step(plan, 1, 1)->add_accesses()->CopyFrom(step(plan, 5)->accesses(1));
  step(plan, 1, 1)->mutable_accesses(4)->set_mode(plan::READ);
  expectFault(plan, kGradientsNotReduced, "buffers/param");
}

TEST(Verify, UpdatesReadTheScalarsOfTheirGroup) {
  plan::Plan plan = testing::stageThreePlan();
  *plan.add_groups() = plan.groups(0);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  plan.mutable_units(1)->mutable_parameters(0)->set_group(1);
  expectFault(plan, kWrongGroup,
              "updates b, of group 1, and reads learning_rate of group 0");
}

TEST(Verify, GathersMoveTheirUnit) {
  // Sources, then destinations, of two gathers swapped.
  for (int access : {0, 1}) {
    plan::Plan plan = testing::stageThreePlan();
    step(plan, 1)->mutable_accesses(access)->Swap(
        step(plan, 2)->mutable_accesses(access));
    testing::stateFacts(plan);
    expectFault(plan, kWrongUnit, "gather a", "parameters [0", "unit 1 (b)");
  }
  // In place: the part of the next rank, then a part of nothing.
  plan::Plan plan = testing::stageOnePlan();
  plan::Step *gather = step(plan, 6);
  gather->mutable_accesses(0)->set_slice(
      testing::sliceNamed(plan, "a/exp_avg"));
  gather->mutable_accesses(0)->clear_strides();
  expectFault(plan, kWrongUnit, "expected \"exp_avg\" [0, + 512)");
  plan = testing::stageThreePlan();
  slice(plan, "b/gathered")->set_slice_class(plan::TRANSIENT);
  expectFault(plan, kWrongUnit,
              "(b/gathered), transient that holds parameters");
  // Gradients that the rank has instead of its parameters.
  plan = testing::stageThreePlan();
  step(plan, 1)->mutable_accesses(0)->set_slice(
      testing::sliceNamed(plan, "a/shard"));
  expectFault(plan, kReadBeforeItIsWritten, "gather a");
  // A shard in place of what is gathered of it.
  plan = testing::stageThreePlan();
  step(plan, 3)->mutable_accesses(1)->set_slice(
      testing::sliceNamed(plan, "a/param"));
  step(plan, 3)->mutable_accesses(1)->set_bytes(1024);
  testing::stateFacts(plan);
  expectFault(plan, kMissingGather, "a/param), which is one rank's shard");
}

// Whatever ranks have in common of it: other values are no parameters.
TEST(Verify, GathersAloneWriteWhatIsGathered) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Step fill;
  fill.mutable_fill();
  *fill.add_accesses() = step(plan, 1)->accesses(1);
  fill.add_waits(1);
  *plan.mutable_programs(0)->add_steps() = fill;
  testing::stateFacts(plan);
  expectFault(plan, kWrongGather, "fill) writes slice 10 (a/gathered)");
}

TEST(Verify, ReductionsMoveTheirUnit) {
  for (int access : {0, 1}) {
    plan::Plan plan = testing::stageThreePlan();
    step(plan, 7)->mutable_accesses(access)->Swap(
        step(plan, 9)->mutable_accesses(access));
    testing::stateFacts(plan);
    expectFault(plan, kWrongUnit, "reduce b", "gradients [0", "unit 0 (a)");
  }
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 7)->mutable_accesses(2)->CopyFrom(step(plan, 1)->accesses(1));
  step(plan, 7)->mutable_reduce_scatter()->set_chunk_bytes(1024);
  testing::stateFacts(plan);
  expectFault(plan, kWrongUnit, "a buffer of none", "a/gathered");
}

TEST(Verify, UpdatesUseTheirOwnGradients) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 11)->mutable_accesses(0)->Swap(
      step(plan, 12)->mutable_accesses(0));
  testing::stateFacts(plan);
  expectFault(plan, kWrongUnit, "update b", "reads ", "a/shard");
  // Another's optimizer state is written.
  plan = testing::stageThreePlan();
  step(plan, 11)->mutable_accesses(3)->Swap(
      step(plan, 12)->mutable_accesses(3));
  expectFault(plan, kWrongUnit, "a/exp_avg");
  // Another rank's part of the gradients, and none at all.
  plan = testing::stageOnePlan();
  step(plan, 5)->mutable_accesses(0)->clear_strides();
  expectFault(plan, kWrongUnit, "gradients [0, + 256)");
  plan = testing::stageOnePlan();
  step(plan, 5)->mutable_accesses()->DeleteSubrange(0, 1);
  testing::stateFacts(plan);
  expectFault(plan, kUnusedGradients, "unit 0 (a)");
}

// Gradients count as used only if a state that is kept is made of them.
TEST(Verify, NewStatesAreKept) {
  plan::Plan plan = testing::stageThreePlan();
  uint32_t buffer = addBuffer(plan, "exp_avg");
  plan::Step *update = step(plan, 12);
  plan::Step wasted = *update;
  update->mutable_accesses()->DeleteSubrange(0, 1);
  wasted.mutable_accesses()->DeleteSubrange(1, 3);
  plan::Access &made = *wasted.add_accesses();
  made.set_slice(buffer);
  made.set_bytes(1024);
  made.set_mode(plan::WRITE);
  wasted.mutable_launch()->set_kernel(uint32_t(plan.kernels_size()));
  *plan.add_kernels() = plan.kernels(int(update->launch().kernel()));
  plan.mutable_kernels(plan.kernels_size() - 1)->set_symbol("wasted");
  *plan.mutable_programs(0)->add_steps() = wasted;
  testing::stateFacts(plan);
  expectFault(plan, kUnusedGradients, "unit 0 (a)");
}

TEST(Verify, DoubledUpdate) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Step again = plan.programs(0).steps(12);
  *plan.mutable_programs(0)->add_steps() = again;
  testing::stateFacts(plan);
  expectFault(plan, kDoubledUpdate, "step 13");
  plan = testing::accumulatingPlan();
  again = plan.programs(1).steps(1);
  *step(plan, 3, 1) = again;
  testing::stateFacts(plan);
  expectFault(plan, kDoubledUpdate, "a/exp_avg");
}

TEST(Verify, PartialUpdate) {
  plan::Plan plan = testing::stageThreePlan();
  for (int access : {0, 2, 3}) {
    step(plan, 11)->mutable_accesses(access)->set_bytes(512);
  }
  expectFault(plan, kMissingUpdate, "bytes [512, 1024)");
}

TEST(Verify, SumsOfGradientsBeginAtZero) {
  plan::Plan plan = testing::accumulatingPlan();
  removeStep(plan, 3, 1);
  expectFault(plan, kGradientsNotZeroed, "bytes [0, 1024)");
  plan = testing::accumulatingPlan();
  step(plan, 3, 1)->mutable_accesses(0)->set_bytes(512);
  expectFault(plan, kGradientsNotZeroed, "bytes [512, 1024)");
  // Twice, and before they are read.
  plan = testing::accumulatingPlan();
  plan::Step fill = plan.programs(1).steps(3);
  *plan.mutable_programs(1)->add_steps() = fill;
  expectFault(plan, kDoubledZeroing, "step 4");
  plan = testing::accumulatingPlan();
  step(plan, 3, 1)->Swap(step(plan, 1, 1));
  expectFault(plan, kLostGradients, "zeroed before");
  // By the micro-batch; with something else than zeros.
  plan = testing::accumulatingPlan();
  *plan.mutable_programs(0)->add_steps() = fill;
  step(plan, 5)->add_waits(3);
  expectFault(plan, kLostGradients, "step 5");
  plan = testing::accumulatingPlan();
  plan::Step *copy = step(plan, 3, 1);
  copy->clear_fill();
  copy->mutable_copy();
  *copy->add_accesses() = copy->accesses(0);
  copy->mutable_accesses(0)->set_slice(testing::sliceNamed(plan, "a/exp_avg"));
  copy->mutable_accesses(0)->set_mode(plan::READ);
  expectFault(plan, kWrongGradients, "one step that zeroes it");
}

TEST(Verify, GradientsOfMicroBatchesAreAdded) {
  plan::Plan plan = testing::reduceLastPlan();
  EXPECT_EQ(verifyPlan(plan), absl::OkStatus());
  // Only those of the last micro-batch would be left.
  step(plan, 2)->mutable_accesses(2)->set_mode(plan::WRITE);
  testing::stateFacts(plan);
  expectFault(plan, kLostGradients, "writes slice 8 (a/grad)");
  // Half of them would be zeros.
  plan = testing::reduceLastPlan();
  step(plan, 2)->mutable_accesses(2)->set_bytes(1024);
  testing::stateFacts(plan);
  expectFault(plan, kLostGradients,
              "is from byte 1024 as earlier micro-batches left it, where "
              "a.weight lies");
  // Something else than a sum.
  plan = testing::reduceLastPlan();
  for (plan::Kernel &kernel : *plan.mutable_kernels()) {
    for (plan::Operand &operand : *kernel.mutable_operands()) {
      operand.clear_linear_in();
    }
  }
  expectSays(verifyPlan(plan), "not linear: ", "step 2");
  // A sum that no step zeroes goes on to the next step.
  plan = testing::reduceLastPlan();
  removeStep(plan, 4, 1);
  expectFault(plan, kGradientsNotZeroed, "a/grad");
}

TEST(Verify, ZerosMayBeCopied) {
  plan::Plan plan = testing::accumulatingPlan();
  plan::Slice *zeros = plan.add_slices();
  *zeros = *slice(plan, "a/grad");
  zeros->set_name("zeros");
  zeros->set_carried(false);
  zeros->set_slice_class(plan::TRANSIENT);
  zeros->set_offset(plan.arenas(0).bytes());
  plan.mutable_arenas(0)->set_bytes(zeros->offset() + zeros->bytes());
  plan::Step *fill = step(plan, 3, 1);
  plan::Step copy = *fill;
  fill->mutable_accesses(0)->set_slice(plan.slices_size() - 1);
  copy.mutable_copy();
  *copy.add_accesses() = copy.accesses(0);
  *copy.mutable_accesses(0) = fill->accesses(0);
  copy.mutable_accesses(0)->set_mode(plan::READ);
  *plan.mutable_programs(1)->add_steps() = copy;
  testing::stateFacts(plan);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
}

/// Copies all of slice `from` to slice `to`.
plan::Step copyOf(const plan::Plan &plan, uint32_t from, uint32_t to) {
  plan::Step copy;
  copy.set_name("copy");
  copy.mutable_copy();
  for (auto [slice, mode] : {std::pair(from, plan::READ), {to, plan::WRITE}}) {
    plan::Access &access = *copy.add_accesses();
    access.set_slice(slice);
    access.set_bytes(plan.slices(int(slice)).bytes());
    access.set_mode(mode);
  }
  return copy;
}

// A copy of the sum from before a reduction replaces it after.
TEST(Verify, AnOldSumOfGradientsDoesNotReturn) {
  plan::Plan plan = testing::accumulatingPlan();
  uint32_t sum = testing::sliceNamed(plan, "a/grad");
  uint32_t buffer = addBuffer(plan, "grad");
  plan::Step reduce = plan.programs(0).steps(3);
  *step(plan, 3) = copyOf(plan, sum, buffer);
  step(plan, 4)->set_sequence(0);
  reduce.set_sequence(1);
  reduce.add_waits(3);
  *plan.mutable_programs(0)->add_steps() = reduce;
  *plan.mutable_programs(0)->add_steps() = copyOf(plan, buffer, sum);
  step(plan, 6)->add_waits(5);
  testing::stateFacts(plan);
  expectFault(plan, kLostGradients, "as earlier micro-batches left it");
  // A buffer that declares other elements may not take the copy.
  plan.mutable_slices(int(buffer))->mutable_holds()->set_begin(256);
  plan.mutable_slices(int(buffer))->mutable_holds()->clear_axes();
  expectFault(plan, kWrongCopy, "grad_shard that holds gradients [256");
}

// A kernel must not add to an old copy of the sum.
TEST(Verify, AKernelAddsToTheSumItself) {
  plan::Plan plan = testing::reduceLastPlan();
  uint32_t sum = testing::sliceNamed(plan, "a/grad");
  uint32_t buffer = addBuffer(plan, "grad");
  plan::Step backward = plan.programs(0).steps(2), again = backward;
  *step(plan, 2) = copyOf(plan, sum, buffer);
  again.mutable_accesses(2)->set_slice(buffer);
  again.mutable_accesses(2)->set_mode(plan::READ);
  *again.add_accesses() = backward.accesses(2);
  again.mutable_accesses(3)->set_mode(plan::WRITE);
  again.mutable_launch()->set_kernel(uint32_t(plan.kernels_size()));
  *plan.add_kernels() = plan.kernels(int(backward.launch().kernel()));
  plan.mutable_kernels(plan.kernels_size() - 1)->set_symbol("again");
  *plan.mutable_programs(0)->add_steps() = backward;
  *plan.mutable_programs(0)->add_steps() = again;
  testing::stateFacts(plan);
  expectFault(plan, kLostGradients, "from a copy of it");
  // Each rank adds to another part of its sum.
  plan = testing::reduceLastPlan();
  step(plan, 2)->mutable_accesses(2)->set_bytes(1024);
  step(plan, 2)->mutable_accesses(2)->add_strides(1024);
  testing::stateFacts(plan);
  expectFault(plan, kLostGradients, "in part");
  // Nothing keeps it from one micro-batch to the next.
  plan = testing::reduceLastPlan();
  plan.mutable_units(0)->mutable_states()->RemoveLast();
  plan.mutable_slices(int(sum))->set_carried(false);
  testing::stateFacts(plan);
  expectFault(plan, kLostGradients, "no state keeps");
}

/// A rank's own values, written into a sum before, do not become common by it.
TEST(Verify, SumsOntoARanksOwn) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Step *reduce = step(plan, 7);
  reduce->mutable_reduce_scatter()->set_accumulate(true);
  *step(plan, 6)->add_accesses() = reduce->accesses(1);
  reduce->mutable_accesses(1)->set_mode(plan::READ_WRITE);
  testing::stateFacts(plan);
  expectFault(plan, kGradientsNotReduced, "update b");

  plan = testing::stageThreePlan();
  plan::Access own;
  own.set_slice(uint32_t(plan.slices_size()));
  own.set_bytes(4);
  plan::Slice *slice = plan.add_slices();
  slice->set_name("own");
  slice->set_slice_class(plan::TRANSIENT);
  slice->set_bytes(4);
  slice->set_offset(plan.arenas(0).bytes());
  plan.mutable_arenas(0)->set_bytes(slice->offset() + 64);
  own.set_mode(plan::WRITE);
  *step(plan, 8)->add_accesses() = own;
  own.set_mode(plan::READ_WRITE);
  *step(plan, 10)->add_accesses() = step(plan, 10)->accesses(0);
  *step(plan, 10)->add_accesses() = own;
  own.set_mode(plan::READ);
  *step(plan, 12)->add_accesses() = own;
  step(plan, 12)->add_waits(10);
  testing::stateFacts(plan);
  expectFault(plan, kGradientsNotReduced, "update a");
}

} // namespace
} // namespace zerograph
