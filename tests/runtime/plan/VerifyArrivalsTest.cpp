//===- VerifyArrivalsTest.cpp - inputs and scalars come through slots -----===//

#include "Faults.h"

namespace zerograph {
namespace {

// x is read, and nothing has copied it in.
TEST(VerifyArrivals, ReadBeforeTheyArrive) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Step *copy_in = step(plan, 0);
  copy_in->mutable_accesses()->DeleteSubrange(2, 1);
  copy_in->mutable_copy_in()->mutable_offsets()->RemoveLast();
  testing::stateFacts(plan);
  expectFault(plan, kReadBeforeItIsWritten, "forward a");
  // Each program copies in what it reads.
  plan = testing::accumulatingPlan();
  plan.mutable_programs(1)->mutable_steps()->DeleteSubrange(0, 1);
  step(plan, 1, 1)->set_waits(0, 0);
  testing::stateFacts(plan);
  expectFault(plan, kReadBeforeItIsWritten, "learning_rate");
}

TEST(VerifyArrivals, AnotherStreamAwaitsThem) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Stream *in = plan.add_streams();
  in->set_name("in");
  in->set_kind(plan::COPY_IN);
  step(plan, 0)->set_stream(plan.streams_size() - 1);
  step(plan, 3)->add_waits(0);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  step(plan, 3)->set_waits(1, 1);
  expectFault(plan, kMissingWait, "copy in");
  in->set_kind(plan::COPY_OUT);
  expectFault(plan, kWrongStream, "copy in");
}

TEST(VerifyArrivals, NoStepWritesASlot) {
  for (int slot : {0, 1}) {
    plan::Plan plan = testing::stageThreePlan();
    plan::Step fill = *step(plan, 0);
    fill.mutable_fill();
    plan::Access written = fill.accesses(slot);
    fill.clear_accesses();
    *fill.add_accesses() = written;
    fill.mutable_accesses(0)->set_mode(plan::WRITE);
    *plan.mutable_programs(0)->add_steps() = fill;
    expectFault(plan, kWrongSlot,
                "step 13 of \"step\" (fill, copy in) "
                "writes slice 2");
  }
}

// A copy knows of one slot, and the run was given the other.
TEST(VerifyArrivals, OnlyCopyInReadsASlot) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Access read = step(plan, 0)->accesses(0);
  read.set_bytes(64);
  *step(plan, 3)->mutable_accesses(0) = read;
  expectFault(plan, kWrongSlot, "forward a) reads slice 22 (slot 0 of step)");
}

TEST(VerifyArrivals, AProgramReadsItsOwnSlots) {
  plan::Plan plan = testing::accumulatingPlan();
  for (int slot : {0, 1}) {
    uint32_t other = plan.programs(0).slots(slot);
    step(plan, 0, 1)->mutable_accesses(slot)->set_slice(other);
    step(plan, 0, 1)
        ->mutable_accesses(slot)
        ->set_bytes(plan.slices(int(other)).bytes());
  }
  expectFault(plan, kWrongSlot, "expected the copy_in of \"micro\"");
}

TEST(VerifyArrivals, SlotsShareNoBytes) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Slice *second = slice(plan, "slot 1 of step");
  second->set_offset(second->offset() - 64);
  testing::stateFacts(plan);
  expectFault(plan, kSharedBytes, "(slot 1 of step)");
}

TEST(VerifyArrivals, ARunCopiesOnce) {
  plan::Plan plan = testing::stageThreePlan();
  *plan.mutable_programs(0)->add_steps() = *step(plan, 0);
  testing::stateFacts(plan);
  expectFault(plan, kCopiedInTwice, "step 13");
}

TEST(VerifyArrivals, WhatArrivedStays) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Access x = step(plan, 0)->accesses(2);
  *step(plan, 3)->mutable_accesses(2) = x; // in place
  testing::stateFacts(plan);
  expectFault(plan, kOverwritten, "forward a) writes slice 0 (x)");
}

TEST(VerifyArrivals, AnUpdateHasNoInputs) {
  plan::Plan plan = testing::accumulatingPlan();
  plan::Step *copy_in = step(plan, 0, 1);
  *copy_in->mutable_accesses(2) = step(plan, 0)->accesses(2);
  testing::stateFacts(plan);
  expectFault(plan, kLateInput, "(x)");
}

// Bytes of an input are another buffer's when it has been read.
TEST(VerifyArrivals, TheirBytesMayBeReused) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Slice *late = plan.add_slices();
  *late = *slice(plan, "x");
  late->set_name("late");
  late->set_slice_class(plan::TRANSIENT);
  plan::Step fill;
  fill.mutable_fill();
  *fill.add_accesses() = step(plan, 0)->accesses(2);
  fill.mutable_accesses(0)->set_slice(plan.slices_size() - 1);
  *plan.mutable_programs(0)->add_steps() = fill;
  testing::stateFacts(plan);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  slice(plan, "y")->set_offset(slice(plan, "x")->offset());
  expectFault(plan, kSharedBytes, "(y)");
}

// Samples are a rank's own wherever they are copied to.
TEST(VerifyArrivals, SamplesAreTheRanksOwn) {
  plan::Plan plan = testing::stageThreePlan();
  plan.mutable_inputs(0)->set_per_sample(false);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  plan.mutable_inputs(0)->set_per_sample(true);
  plan::Access x = step(plan, 0)->accesses(2);
  x.set_mode(plan::READ);
  *step(plan, 12)->add_accesses() = x;
  testing::stateFacts(plan);
  expectFault(plan, kGradientsNotReduced, "slice 0 (x)");
}

} // namespace
} // namespace zerograph
