//===- VerifyTest.cpp - every seeded fault is found, for its own reason ---===//

#include "PlanBuilder.h"

#include "runtime/plan/HappensBefore.h"
#include "runtime/plan/Verify.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <chrono>
#include <functional>

namespace zerograph {
namespace {

using ::testing::HasSubstr;

plan::Step *step(plan::Plan &plan, int index, int program = 0) {
  return plan.mutable_programs(program)->mutable_steps(index);
}

plan::Slice *slice(plan::Plan &plan, const std::string &name) {
  return plan.mutable_slices(testing::sliceNamed(plan, name));
}

void expectFault(plan::Plan plan, const char *cause, const char *where) {
  testing::signKernels(plan); // another kernel, where a launch was changed
  absl::Status status = verifyPlan(plan);
  EXPECT_FALSE(status.ok()) << cause;
  EXPECT_THAT(std::string(status.message()), HasSubstr(cause));
  EXPECT_THAT(std::string(status.message()), HasSubstr(where));
}

TEST(Verify, SoundPlansPass) {
  for (const plan::Plan &plan :
       {testing::stageThreePlan(), testing::stageOnePlan(),
        testing::accumulatingPlan()}) {
    EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  }
}

TEST(Verify, EveryDroppedWaitIsARace) {
  for (plan::Plan plan : {testing::stageThreePlan(), testing::stageOnePlan(),
                          testing::accumulatingPlan()}) {
    for (int p = 0; p < plan.programs_size(); ++p) {
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        // The sum of the loss is ordered by its stream; its wait is spare.
        if (plan.programs(p).steps(s).waits_size() == 0 ||
            plan.programs(p).steps(s).has_all_reduce()) {
          continue;
        }
        plan::Plan fault = plan;
        step(fault, s, p)->clear_waits();
        expectFault(fault,
                    "missing wait: ", plan.programs(p).steps(s).name().c_str());
      }
    }
  }
}

TEST(Verify, SharedBytesOfUnorderedStepsAreARace) {
  // Gathers run ahead of compute: b's buffer may not lie where h is made.
  plan::Plan plan = testing::stageThreePlan();
  slice(plan, "h")->set_offset(slice(plan, "b/gathered")->offset());
  expectFault(plan, "race: ", "gather b");
  expectFault(plan, "shared bytes: ", "(h)");
}

TEST(Verify, BytesMayBeReusedInOrder) {
  // dh is made after y was last read, on the same stream.
  plan::Plan plan = testing::stageThreePlan();
  slice(plan, "dh")->set_offset(slice(plan, "y")->offset());
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  // h is still needed when dy is made.
  slice(plan, "dy")->set_offset(slice(plan, "h")->offset());
  expectFault(plan, "shared bytes: ", "(dy)");
}

TEST(Verify, ShiftedOffsets) {
  plan::Plan plan = testing::stageThreePlan();
  slice(plan, "dy")->set_offset(slice(plan, "dy")->offset() - 128);
  expectFault(plan, "shared bytes: ", "(h)");
  plan = testing::stageThreePlan();
  plan::Slice *moments = slice(plan, "a/exp_avg");
  moments->set_offset(moments->offset() + 512);
  expectFault(plan, "shared bytes: ", "carried across programs");
}

TEST(Verify, ShortenedLifetimes) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Lifetime *life = slice(plan, "h")->mutable_lifetimes(0);
  life->set_last(life->last() - 1);
  expectFault(plan, "outside its lifetime: ", "backward b");
  plan = testing::stageThreePlan();
  slice(plan, "h")->mutable_lifetimes(0)->set_first(3);
  expectFault(plan, "outside its lifetime: ", "forward a");
  plan = testing::stageThreePlan();
  slice(plan, "h")->clear_lifetimes();
  expectFault(plan, "not at all in this program", "(h)");
}

TEST(Verify, SumsInPlace) {
  // A product is made where the gradient belongs, and a launch adds to it there
  // through an operand and a result of the same bytes.
  plan::Plan product = testing::stageThreePlan();
  plan::Access write = step(product, 5)->accesses(4);
  ASSERT_EQ(write.slice(), testing::sliceNamed(product, "b/gradients"));
  plan::Access read = write;
  read.set_mode(plan::READ);
  *step(product, 4)->add_accesses() = write;
  plan::Plan plan = product;
  *step(plan, 5)->mutable_accesses(4) = read; // results come last
  *step(plan, 5)->add_accesses() = write;
  testing::stateFacts(plan);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  // Behind the launch that the reduction awaits, it would race with it.
  for (const plan::Access &access : {read, write}) {
    *step(product, 7)->add_accesses() = access;
  }
  testing::stateFacts(product);
  expectFault(product, "missing wait: ", "backward a");
}

TEST(Verify, ReadBeforeWritten) {
  plan::Plan plan = testing::stageThreePlan();
  // The gather writes half of what forward reads.
  step(plan, 2)->mutable_accesses(2)->set_bytes(32);
  testing::stateFacts(plan);
  expectFault(plan, "read before it is written: ", "writes byte 32");
  plan = testing::stageThreePlan();
  step(plan, 2)->mutable_accesses(1)->set_slice(
      testing::sliceNamed(plan, "a/gradients"));
  testing::stateFacts(plan);
  expectFault(plan, "read before it is written: ", "forward a");
}

TEST(Verify, EveryRanksBytesAreWritten) {
  // In place: the update reads the part that another rank's number selects.
  plan::Plan plan = testing::stageOnePlan();
  plan::Step *backward = step(plan, 1);
  backward->mutable_accesses(2)->set_bytes(1024);
  expectFault(plan, "read before it is written: ", "writes byte 1024");
}

TEST(Verify, OrderOfCollectives) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 0)->set_sequence(1);
  step(plan, 1)->set_sequence(0);
  expectFault(plan, "order of collectives: ", "gather a");
  plan = testing::stageThreePlan();
  step(plan, 8)->set_sequence(9);
  expectFault(plan, "order of collectives: ", "reduce a");
}

TEST(Verify, StreamsAndWaits) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 3)->add_waits(2);
  expectFault(plan, "useless wait: ", "forward b");
  plan = testing::stageThreePlan();
  step(plan, 2)->set_stream(plan::GATHER);
  expectFault(plan, "wrong stream: ", "forward a");
  plan = testing::stageThreePlan();
  step(plan, 6)->set_stream(plan::H2D);
  expectFault(plan, "wrong stream: ", "reduce b");
}

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

TEST(Verify, MissingReduction) {
  plan::Plan plan = testing::stageThreePlan();
  removeStep(plan, 6);
  expectFault(plan, "missing reduction: ", "unit 1 (b)");
  expectFault(plan, "read before it is written: ", "update b");
  plan = testing::stageOnePlan();
  removeStep(plan, 2);
  expectFault(plan, "missing reduction: ", "unit 0 (a)");
  expectFault(plan, "gradients not reduced: ", "update");
}

TEST(Verify, DoubledReduction) {
  plan::Plan plan = testing::stageThreePlan();
  *plan.mutable_programs(0)->add_steps() = plan.programs(0).steps(8);
  step(plan, 12)->set_sequence(5);
  step(plan, 12)->add_waits(11);
  testing::stateFacts(plan);
  expectFault(plan, "doubled reduction: ", "reduce a");
}

TEST(Verify, LostMicroBatches) {
  plan::Plan plan = testing::accumulatingPlan();
  step(plan, 2)->mutable_reduce_scatter()->set_accumulate(false);
  step(plan, 2)->mutable_accesses(1)->set_mode(plan::WRITE);
  expectFault(plan, "lost gradients: ", "reduce a");
}

TEST(Verify, LateGradients) {
  // A launch that adds to gradients after their reduction.
  plan::Plan plan = testing::stageOnePlan();
  plan::Step *late = step(plan, 4);
  *late->mutable_accesses(0) = step(plan, 1)->accesses(0);
  *late->add_accesses() = step(plan, 1)->accesses(2);
  testing::stateFacts(plan);
  expectFault(plan, "late gradients: ", "update");
}

TEST(Verify, MissingGather) {
  // Ranks keep their own news of the parameters.
  plan::Plan plan = testing::stageOnePlan();
  removeStep(plan, 5);
  expectFault(plan, "missing gather: ", "a/param");
  // Parameters are read between their update and their gather.
  plan = testing::stageOnePlan();
  plan::Step gather = plan.programs(0).steps(5);
  plan::Step again = plan.programs(0).steps(0);
  *step(plan, 5) = again;
  step(plan, 5)->add_waits(3);
  *plan.mutable_programs(0)->add_steps() = gather;
  step(plan, 6)->clear_waits();
  step(plan, 6)->add_waits(5);
  testing::stateFacts(plan);
  expectFault(plan, "missing gather: ", "step 5");
}

TEST(Verify, MissingUpdate) {
  plan::Plan plan = testing::stageThreePlan();
  removeStep(plan, 11);
  expectFault(plan, "missing update: ", "unit 0 (a)");
}

TEST(Verify, FrozenAndEarlyWrites) {
  plan::Plan plan = testing::stageThreePlan();
  plan.mutable_units(0)->set_trainable(false);
  plan.mutable_units(0)->mutable_parameters(0)->set_trainable(false);
  expectFault(plan, "frozen state: ", "update a");
  expectFault(plan, "needless reduction: ", "reduce a");
  plan = testing::accumulatingPlan();
  step(plan, 1)->add_accesses()->CopyFrom(step(plan, 0, 1)->accesses(3));
  expectFault(plan, "early update: ", "backward");
}

TEST(Verify, GathersMoveTheirUnit) {
  // Sources, then destinations, of two gathers swapped.
  for (int access : {0, 1}) {
    plan::Plan plan = testing::stageThreePlan();
    step(plan, 0)->mutable_accesses(access)->Swap(
        step(plan, 1)->mutable_accesses(access));
    testing::stateFacts(plan);
    expectFault(plan, "wrong unit: ", "gather a");
    expectFault(plan, "expected parameters [0", "unit 1 (b)");
  }
  // In place: the part of the next rank, then a part of nothing.
  plan::Plan plan = testing::stageOnePlan();
  plan::Step *gather = step(plan, 5);
  gather->mutable_accesses(0)->set_slice(
      testing::sliceNamed(plan, "a/exp_avg"));
  gather->mutable_accesses(0)->set_rank_stride(0);
  expectFault(plan, "wrong unit: ", "optimizer state [0 + rank * 256");
  plan = testing::stageThreePlan();
  slice(plan, "b/gathered")->set_slice_class(plan::TRANSIENT);
  expectFault(plan, "wrong unit: ", "which holds nothing of a unit");
  // Gradients that the rank has instead of its parameters.
  plan = testing::stageThreePlan();
  step(plan, 0)->mutable_accesses(0)->set_slice(
      testing::sliceNamed(plan, "a/shard"));
  expectFault(plan, "wrong unit: ", "expected parameters [0");
  // A launch that overwrites what has been gathered.
  plan = testing::stageThreePlan();
  step(plan, 2)->mutable_accesses(1)->set_mode(plan::READ_WRITE);
  expectFault(plan, "no collective: ", "forward a");
}

// A slice has one type, whoever touches it.
TEST(Verify, BytesKeepTheirType) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 0)->mutable_all_gather()->set_type(plan::I32);
  expectFault(plan, "wrong type: ", "(all_gather, gather a) takes");
  plan = testing::stageThreePlan();
  plan.mutable_units(0)->set_type(plan::I32);
  expectFault(plan, "wrong type: ", "unit a for i32");
  plan = testing::stageThreePlan();
  plan.mutable_inputs(0)->set_type(plan::I32);
  expectFault(plan, "wrong type: ", "input x");
}

TEST(Verify, ReductionsMoveTheirUnit) {
  for (int access : {0, 1}) {
    plan::Plan plan = testing::stageThreePlan();
    step(plan, 6)->mutable_accesses(access)->Swap(
        step(plan, 8)->mutable_accesses(access));
    testing::stateFacts(plan);
    expectFault(plan, "wrong unit: ", "reduce b");
    expectFault(plan, "expected gradients [0", "unit 0 (a)");
  }
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 6)->mutable_accesses(2)->CopyFrom(step(plan, 0)->accesses(1));
  step(plan, 6)->mutable_reduce_scatter()->set_chunk_bytes(1024);
  testing::stateFacts(plan);
  expectFault(plan, "exchanges through", "a/gathered");
}

TEST(Verify, UpdatesUseTheirOwnGradients) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 10)->mutable_accesses(0)->Swap(
      step(plan, 11)->mutable_accesses(0));
  testing::stateFacts(plan);
  expectFault(plan, "wrong unit: ", "update b");
  expectFault(plan, "reads ", "a/shard");
  // Another's optimizer state is written.
  plan = testing::stageThreePlan();
  step(plan, 10)->mutable_accesses(3)->Swap(
      step(plan, 11)->mutable_accesses(3));
  expectFault(plan, "wrong unit: ", "a/exp_avg");
  // Another rank's part of the gradients, and none at all.
  plan = testing::stageOnePlan();
  step(plan, 4)->mutable_accesses(0)->set_rank_stride(0);
  expectFault(plan, "wrong unit: ", "gradients [0, + 256)");
  plan = testing::stageOnePlan();
  step(plan, 4)->mutable_accesses()->DeleteSubrange(0, 1);
  testing::stateFacts(plan);
  expectFault(plan, "unused gradients: ", "unit 0 (a)");
}

TEST(Verify, DoubledUpdate) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Step again = plan.programs(0).steps(11);
  *plan.mutable_programs(0)->add_steps() = again;
  testing::stateFacts(plan);
  expectFault(plan, "doubled update: ", "step 12");
  plan = testing::accumulatingPlan();
  again = plan.programs(1).steps(0);
  *step(plan, 2, 1) = again;
  testing::stateFacts(plan);
  expectFault(plan, "doubled update: ", "a/exp_avg");
}

TEST(Verify, PartialUpdate) {
  plan::Plan plan = testing::stageThreePlan();
  for (int access : {0, 2, 3}) {
    step(plan, 10)->mutable_accesses(access)->set_bytes(512);
  }
  expectFault(plan, "missing update: ", "bytes [512, 1024)");
}

TEST(Verify, SumsOfGradientsBeginAtZero) {
  plan::Plan plan = testing::accumulatingPlan();
  removeStep(plan, 2, 1);
  expectFault(plan, "gradients not zeroed: ", "bytes [0, 1024)");
  plan = testing::accumulatingPlan();
  step(plan, 2, 1)->mutable_accesses(0)->set_bytes(512);
  expectFault(plan, "gradients not zeroed: ", "bytes [512, 1024)");
  // Twice, and before they are read.
  plan = testing::accumulatingPlan();
  plan::Step fill = plan.programs(1).steps(2);
  *plan.mutable_programs(1)->add_steps() = fill;
  expectFault(plan, "doubled zeroing: ", "step 3");
  plan = testing::accumulatingPlan();
  step(plan, 2, 1)->Swap(step(plan, 0, 1));
  expectFault(plan, "lost gradients: ", "zeroed before");
  // By the micro-batch; with something else than zeros.
  plan = testing::accumulatingPlan();
  *plan.mutable_programs(0)->add_steps() = fill;
  step(plan, 4)->add_waits(2);
  expectFault(plan, "wrong gradients: ", "step 4");
  plan = testing::accumulatingPlan();
  plan::Step *copy = step(plan, 2, 1);
  copy->clear_fill();
  copy->mutable_copy();
  *copy->add_accesses() = copy->accesses(0);
  copy->mutable_accesses(0)->set_slice(testing::sliceNamed(plan, "a/exp_avg"));
  copy->mutable_accesses(0)->set_mode(plan::READ);
  expectFault(plan, "wrong gradients: ", "one step that zeroes it");
}

TEST(Verify, ZerosMayBeCopied) {
  plan::Plan plan = testing::accumulatingPlan();
  plan::Slice *zeros = plan.add_slices();
  *zeros = *slice(plan, "a/grad");
  zeros->set_name("zeros");
  zeros->set_carried(false);
  zeros->set_slice_class(plan::TRANSIENT);
  zeros->set_unit(-1);
  zeros->set_offset(plan.arenas(0).bytes());
  plan.mutable_arenas(0)->set_bytes(zeros->offset() + zeros->bytes());
  plan::Step *fill = step(plan, 2, 1);
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

TEST(Verify, RanksAgreeOnLossAndStop) {
  // The sums of the loss and of the flag, one after the other, go.
  for (int pair : {0, 1}) {
    for (plan::Plan plan :
         {testing::stageThreePlan(), testing::accumulatingPlan()}) {
      int sum = plan.programs_size() == 1 ? 9 : 3;
      step(plan, sum)->mutable_accesses()->DeleteSubrange(2 * pair, 2);
      testing::stateFacts(plan);
      expectFault(plan, "no agreement: 0 all_reduces",
                  pair == 0 ? "the loss" : "the stop count");
    }
  }
  // What the runtime sets on each rank; a slice that nothing sums.
  plan::Plan plan = testing::stageThreePlan();
  plan.set_stop_slice(testing::sliceNamed(plan, "stop of this rank"));
  expectFault(plan, "a slice holds one of them", "stop of this rank");
  plan = testing::stageThreePlan();
  plan.set_stop_slice(testing::sliceNamed(plan, "learning_rate"));
  expectFault(plan, "a slice holds one of them", "learning_rate");
  // The two sources swapped; the sum made twice, or overwritten.
  plan = testing::stageThreePlan();
  step(plan, 9)->mutable_accesses(0)->Swap(step(plan, 9)->mutable_accesses(2));
  expectFault(plan, "no agreement: ", "expected the scalar \"stop\"");
  expectFault(plan, "no agreement: ", "expected the loss of this rank");
  plan = testing::stageThreePlan();
  plan::Step again = plan.programs(0).steps(9);
  again.set_sequence(5);
  *plan.mutable_programs(0)->add_steps() = again;
  testing::stateFacts(plan);
  expectFault(plan, "no agreement: 2 all_reduces", "the stop count");
  plan = testing::stageThreePlan();
  *step(plan, 11)->add_accesses() = again.accesses(3);
  step(plan, 11)->add_waits(9);
  expectFault(plan, "no agreement: ", "update a");
  plan = testing::stageThreePlan();
  step(plan, 9)->mutable_all_reduce()->set_type(plan::I32);
  expectFault(plan, "adds up elements of type i32", "sum the loss");
}

TEST(Verify, TheStopFlagIsTheRanksOwn) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Access flag = step(plan, 9)->accesses(2);
  *step(plan, 11)->add_accesses() = flag;
  expectFault(plan, "gradients not reduced: ", "stop of this rank");
}

TEST(Verify, Layouts) {
  plan::Plan plan = testing::stageThreePlan();
  plan.set_zero_stage(2);
  for (plan::Step &each : *plan.mutable_programs(0)->mutable_steps()) {
    if (each.has_all_gather()) {
      each.mutable_all_gather()->set_stay(plan::STAY_NONE);
    }
  }
  expectFault(plan, "wrong layout: ", "keeps it whole");
  plan = testing::stageOnePlan();
  plan.set_zero_stage(0);
  expectFault(plan, "wrong layout: ", "exp_avg");
}

TEST(Verify, PredictionAndPeak) {
  plan::Plan plan = testing::accumulatingPlan();
  plan.mutable_prediction()->set_reduce_bytes(1024);
  expectFault(plan, "wrong prediction: ", "make 2048");
  plan = testing::accumulatingPlan();
  plan.mutable_arenas(0)->set_peak(plan.arenas(0).peak() - 1);
  expectFault(plan, "wrong peak: ", "arena 0");
  plan = testing::accumulatingPlan();
  plan.mutable_arenas(0)->set_lower_bound(plan.arenas(0).bytes() + 1);
  expectFault(plan, "wrong bound: ", "arena 0");
}

TEST(Verify, InputsAreWrittenBeforeTheProgram) {
  // Another buffer may follow an input on its bytes, and never come first.
  plan::Plan plan = testing::stageThreePlan();
  slice(plan, "x")->set_carried(false);
  testing::stateFacts(plan);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  slice(plan, "y")->set_offset(slice(plan, "x")->offset());
  expectFault(plan, "shared bytes: ", "(y)");
  // Nothing reads it any more: it is done with when the program starts.
  for (int reader : {2, 7}) {
    *step(plan, reader)->mutable_accesses(reader == 2 ? 0 : 1) =
        step(plan, 2)->accesses(reader == 2 ? 1 : 0);
  }
  step(plan, 7)->mutable_accesses(1)->CopyFrom(step(plan, 7)->accesses(0));
  testing::stateFacts(plan);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
}

TEST(Verify, DumpedGradientsLiveToTheEnd) {
  plan::Plan plan = testing::stageThreePlan();
  plan.mutable_units(0)->add_states()->set_role("grad");
  plan::State *state = plan.mutable_units(0)->mutable_states(2);
  state->set_sharded(true);
  state->set_slice(testing::sliceNamed(plan, "a/shard"));
  uint64_t bytes = slice(plan, "a/shard")->bytes();
  ASSERT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  // Another buffer takes their bytes once the update has read them.
  plan::Step fill;
  fill.set_stream(plan::COMPUTE);
  fill.mutable_fill();
  plan::Slice *late = plan.add_slices();
  *late = plan.slices(testing::sliceNamed(plan, "a/shard"));
  late->set_name("late");
  late->set_slice_class(plan::TRANSIENT);
  late->set_unit(-1);
  fill.add_accesses()->set_slice(plan.slices_size() - 1);
  fill.mutable_accesses(0)->set_bytes(bytes);
  fill.mutable_accesses(0)->set_mode(plan::WRITE);
  *plan.mutable_programs(0)->add_steps() = fill;
  testing::stateFacts(plan);
  EXPECT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  plan.set_dump_gradients(true);
  expectFault(plan, "shared bytes: ", "late");
}

TEST(Verify, ReportsSeveralProblemsAtOnce) {
  plan::Plan plan = testing::stageThreePlan();
  step(plan, 2)->clear_waits();
  step(plan, 11)->clear_waits();
  expectFault(plan, "forward a", "update a");
}

TEST(Verify, TenThousandStepsTakeAboutASecond) {
  plan::Plan plan = testing::stageOnePlan();
  // A long chain over five streams, each step waiting for the one before, that
  // passes bytes of a pool around and reads a common scalar.
  constexpr int kSteps = 10000;
  constexpr plan::Stream kOn[] = {plan::COMPUTE, plan::GATHER, plan::SCATTER,
                                  plan::H2D, plan::D2H};
  plan::Arena *arena = plan.mutable_arenas(0);
  uint64_t base = arena->bytes();
  arena->set_bytes(base + (1 << 20));
  int first = plan.programs(0).steps_size();
  for (int i = 0; i < kSteps; ++i) {
    plan::Slice *made = plan.add_slices();
    made->set_offset(base + uint64_t(i) * 7919 % 1000 * 1024);
    made->set_bytes(1024 + i % 7 * 1024);
    made->set_slice_class(plan::TRANSIENT);
    made->set_unit(-1);
    made->set_segment(-1);
    plan::Step *next = plan.mutable_programs(0)->add_steps();
    next->set_stream(kOn[i % 5]);
    next->add_waits(first + i - 1);
    plan::Access *write = next->add_accesses();
    write->set_slice(plan.slices_size() - 1);
    write->set_bytes(made->bytes());
    write->set_mode(plan::WRITE);
    next->mutable_fill();
  }
  step(plan, first)->clear_waits();
  step(plan, first)->add_waits(first - 1);
  testing::stateFacts(plan);
  auto start = std::chrono::steady_clock::now();
  absl::Status status = verifyPlan(plan);
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(status.ok()) << status;
  RecordProperty("seconds", std::to_string(taken.count()));
  EXPECT_LT(taken.count(), 5.0); // about 0.1 on an idle machine
}

TEST(HappensBefore, StreamsWaitsAndCollectives) {
  plan::Plan plan = testing::stageThreePlan();
  HappensBefore order(plan.programs(0));
  EXPECT_TRUE(order.before(2, 3));  // one stream
  EXPECT_TRUE(order.before(0, 2));  // a wait
  EXPECT_TRUE(order.before(0, 11)); // through others
  EXPECT_TRUE(order.before(1, 6));  // collectives, whatever the stream
  EXPECT_FALSE(order.ordered(1, 2));
  EXPECT_FALSE(order.ordered(6, 7));
  EXPECT_FALSE(order.before(3, 2));
  EXPECT_FALSE(order.before(4, 4));
}

} // namespace
} // namespace zerograph
