//===- VerifyTest.cpp - every seeded fault is found, for its own reason ---===//
//
// Tests what bytes, streams and files promise; what ranks do with units is in
// VerifyUnitsTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "Faults.h"

#include "runtime/plan/HappensBefore.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <functional>

namespace zerograph {
namespace {

TEST(Verify, SoundPlansPass) {
  for (const plan::Plan &plan :
       {testing::stageThreePlan(), testing::stageOnePlan(),
        testing::accumulatingPlan(), testing::offloadingPlan()}) {
    EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  }
}

TEST(Verify, EveryDroppedWaitIsARace) {
  for (plan::Plan plan :
       {testing::stageThreePlan(), testing::stageOnePlan(),
        testing::accumulatingPlan(), testing::offloadingPlan()}) {
    for (int p = 0; p < plan.programs_size(); ++p) {
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        // The sum of the loss is ordered by its stream; its wait is spare.
        if (plan.programs(p).steps(s).waits_size() == 0 ||
            plan.programs(p).steps(s).has_all_reduce()) {
          continue;
        }
        plan::Plan fault = plan;
        step(fault, s, p)->clear_waits();
        expectFault(fault, kMissingWait,
                    plan.programs(p).steps(s).name().c_str());
      }
    }
  }
}

TEST(Verify, SharedBytesOfUnorderedStepsAreARace) {
  // Gathers run ahead of compute: b's buffer may not lie where h is made.
  plan::Plan plan = testing::stageThreePlan();
  slice(plan, "h")->set_offset(slice(plan, "b/gathered")->offset());
  expectFault(plan, kRace, "gather b");
  expectFault(plan, kSharedBytes, "(h)");
}

TEST(Verify, BytesMayBeReusedInOrder) {
  // dh is made after y was last read, on the same stream.
  plan::Plan plan = testing::stageThreePlan();
  slice(plan, "dh")->set_offset(slice(plan, "y")->offset());
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  // h is still needed when dy is made.
  slice(plan, "dy")->set_offset(slice(plan, "h")->offset());
  expectFault(plan, kSharedBytes, "(dy)");
}

TEST(Verify, ShiftedOffsets) {
  plan::Plan plan = testing::stageThreePlan();
  slice(plan, "dy")->set_offset(slice(plan, "dy")->offset() - 128);
  expectFault(plan, kSharedBytes, "(h)");
  plan = testing::stageThreePlan();
  plan::Slice *moments = slice(plan, "a/exp_avg");
  moments->set_offset(moments->offset() + 512);
  expectFault(plan, kSharedBytes, "carried across programs");
}

TEST(Verify, SumsInPlace) {
  // A product is made where the gradient belongs, and a launch adds to it there
  // through an operand and a result of the same bytes.
  plan::Plan product = testing::stageThreePlan();
  plan::Access write = step(product, 6)->accesses(4);
  ASSERT_EQ(write.slice(), testing::sliceNamed(product, "b/gradients"));
  plan::Access read = write;
  read.set_mode(plan::READ);
  *step(product, 5)->add_accesses() = write;
  plan::Plan plan = product;
  *step(plan, 6)->mutable_accesses(4) = read; // results come last
  *step(plan, 6)->add_accesses() = write;
  testing::stateFacts(plan);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  // Another access after the launch that the reduction awaits would race with
  // it.
  for (const plan::Access &access : {read, write}) {
    *step(product, 8)->add_accesses() = access;
  }
  testing::stateFacts(product);
  expectFault(product, kMissingWait, "backward a");
}

TEST(Verify, ReadBeforeWritten) {
  plan::Plan plan = testing::stageThreePlan();
  // The gather writes half of what forward reads.
  step(plan, 3)->mutable_accesses(2)->set_bytes(32);
  testing::stateFacts(plan);
  expectFault(plan, kReadBeforeItIsWritten, "writes byte 32");
  plan = testing::stageThreePlan();
  step(plan, 3)->mutable_accesses(1)->set_slice(
      testing::sliceNamed(plan, "a/gradients"));
  testing::stateFacts(plan);
  expectFault(plan, kReadBeforeItIsWritten, "forward a");
}

TEST(Verify, WorkingSpaceIsNotRead) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Access *read = step(plan, 8)->add_accesses();
  for (int i = 0; i < plan.slices_size(); ++i) {
    if (plan.slices(i).slice_class() == plan::STAGING &&
        !plan.slices(i).carried()) {
      read->set_slice(uint32_t(i));
    }
  }
  read->set_bytes(64);
  read->set_mode(plan::READ);
  testing::stateFacts(plan);
  expectFault(plan, kReadBeforeItIsWritten, "working space");
}

TEST(Verify, EveryRanksBytesAreWritten) {
  // In place: the update reads the part that another rank's number selects.
  plan::Plan plan = testing::stageOnePlan();
  plan::Step *backward = step(plan, 2);
  backward->mutable_accesses(2)->set_bytes(1024);
  expectFault(plan, kReadBeforeItIsWritten, "writes byte 1024");
}

TEST(Verify, OrderOfCollectives) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 1)->set_sequence(1);
  step(plan, 2)->set_sequence(0);
  expectFault(plan, kOrderOfCollectives, "gather a");
  plan = testing::stageThreePlan();
  step(plan, 9)->set_sequence(9);
  expectFault(plan, kOrderOfCollectives, "reduce a");
}

TEST(Verify, StreamsAndWaits) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 3)->set_stream(testing::kGather);
  expectFault(plan, kWrongStream, "forward a");
  plan = testing::stageThreePlan();
  step(plan, 7)->set_stream(testing::kCompute);
  expectFault(plan, kWrongStream, "reduce b");
  // Any number of streams may compute.
  plan = testing::stageThreePlan();
  *plan.add_streams() = plan.streams(testing::kCompute);
  step(plan, 12)->set_stream(3);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
}

// A slice has one type, whoever touches it.
TEST(Verify, BytesKeepTheirType) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 1)->mutable_all_gather()->set_element_type(plan::I32);
  expectFault(plan, kWrongType, "(all_gather, gather a) takes");
  plan = testing::stageThreePlan();
  plan.mutable_units(0)->mutable_states(1)->set_type(plan::I32);
  expectFault(plan, kWrongType, "\"exp_avg\" of unit a for i32");
  plan = testing::stageThreePlan();
  plan.mutable_inputs(0)->set_type(plan::I32);
  expectFault(plan, kWrongType, "input x");
}

// Memory that only one device reaches, and copies between them.
TEST(Verify, DevicesReachTheirMemory) {
  plan::Plan plan = testing::stageThreePlan();
  *plan.add_devices() = plan.devices(0);
  plan.mutable_arenas(0)->set_device(1);
  expectFault(plan, kWrongSpace, "which device 0 does not reach");
  plan.mutable_arenas(0)->set_space(plan::PINNED);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
}

// Whatever the stage is called: what is declared is what counts.
TEST(Verify, TheStageDecidesNothing) {
  for (plan::Plan plan : {testing::stageThreePlan(), testing::stageOnePlan(),
                          testing::accumulatingPlan()}) {
    for (uint32_t stage : {0, 1, 2, 3}) {
      plan.set_zero_stage(stage);
      EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
    }
  }
}

TEST(Verify, DumpedGradientsLiveToTheEnd) {
  plan::Plan plan = testing::stageThreePlan();
  for (plan::Unit &unit : *plan.mutable_units()) {
    plan::State *state = unit.add_states();
    state->set_role("grad");
    state->add_axes(0);
    state->set_type(plan::F32);
    state->set_slice(testing::sliceNamed(plan, unit.name() + "/shard"));
  }
  plan.set_dump_gradients(true);
  uint64_t bytes = slice(plan, "a/shard")->bytes();
  testing::stateFacts(plan);
  ASSERT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  // Another buffer takes their bytes once the update has read them.
  plan::Step fill;
  fill.set_stream(plan::COMPUTE);
  fill.mutable_fill();
  plan::Slice *late = plan.add_slices();
  *late = plan.slices(testing::sliceNamed(plan, "a/shard"));
  late->set_name("late");
  late->set_slice_class(plan::TRANSIENT);
  fill.add_accesses()->set_slice(plan.slices_size() - 1);
  fill.mutable_accesses(0)->set_bytes(bytes);
  fill.mutable_accesses(0)->set_mode(plan::WRITE);
  *plan.mutable_programs(0)->add_steps() = fill;
  testing::stateFacts(plan);
  expectFault(plan, kSharedBytes, "late");
}

TEST(Verify, GradientsAreStatesToBeDumped) {
  plan::Plan plan = testing::stageThreePlan();
  plan.set_dump_gradients(true);
  expectFault(plan, kInvalidUnit, "unit 0 (a)", "\"grad\"");
  plan.set_dump_gradients(false);
  plan::State *state = plan.mutable_units(0)->add_states();
  state->set_role("grad");
  state->add_axes(0);
  state->set_type(plan::F32);
  state->set_slice(testing::sliceNamed(plan, "a/shard"));
  expectFault(plan, kInvalidUnit, "unit 0 (a)", "carried");
}

TEST(Verify, ReportsSeveralProblemsAtOnce) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 3)->clear_waits();
  step(plan, 12)->clear_waits();
  expectFault(plan, kMissingWait, "forward a", "update a");
}

// Wasteful plans are safe, and it is said what they waste.
void expectWaste(const plan::Plan &plan, absl::string_view id,
                 const char *where) {
  auto waste = findWaste(plan).value();
  ASSERT_EQ(waste.size(), 1u) << id;
  expectSays(waste[0], absl::StrCat(id, ": "));
  expectSays(waste[0], where);
}

TEST(Waste, SoundPlansHaveNone) {
  for (const plan::Plan &plan :
       {testing::stageThreePlan(), testing::stageOnePlan(),
        testing::accumulatingPlan(), testing::localUnitPlan(),
        testing::offloadingPlan(), testing::forwardPlan()}) {
    auto waste = findWaste(plan).value();
    EXPECT_EQ(waste.size(), 0u) << waste[0];
  }
}

TEST(Waste, WaitsForTheOwnStream) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 4)->add_waits(3);
  expectWaste(plan, kUselessWait, "forward b");
}

TEST(Waste, MemoryBehindTheLastBuffer) {
  plan::Plan plan = testing::stageThreePlan();
  plan.mutable_arenas(0)->set_bytes(plan.arenas(0).bytes() + 64);
  expectWaste(plan, kUnusedMemory, "64 bytes");
}

TEST(Waste, ResultsThatNobodyReads) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Step again = plan.programs(0).steps(3);
  *plan.mutable_programs(0)->add_steps() = again;
  testing::stateFacts(plan);
  expectWaste(plan, kNeedlessStep, "step 13");
}

TEST(Waste, GathersWithoutNews) {
  plan::Plan plan = testing::stageOnePlan();
  plan::Step again = plan.programs(0).steps(6);
  again.set_sequence(3);
  *plan.mutable_programs(0)->add_steps() = again;
  testing::stateFacts(plan);
  expectWaste(plan, kNeedlessGather, "step 7");
}

TEST(HappensBefore, StreamsWaitsAndCollectives) {
  plan::Plan plan = testing::stageThreePlan();
  HappensBefore order(plan.programs(0));
  EXPECT_TRUE(order.before(3, 4));  // one stream
  EXPECT_TRUE(order.before(1, 3));  // a wait
  EXPECT_TRUE(order.before(1, 12)); // through others
  EXPECT_TRUE(order.before(2, 7));  // collectives, whatever the stream
  EXPECT_FALSE(order.ordered(2, 3));
  EXPECT_FALSE(order.ordered(7, 8));
  EXPECT_FALSE(order.before(4, 3));
  EXPECT_FALSE(order.before(5, 5));
}

} // namespace
} // namespace zerograph
