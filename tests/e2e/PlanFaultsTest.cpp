//===- PlanFaultsTest.cpp - what a damaged plan is refused for ------------===//

#include "runtime/plan/Verify.h"
#include "tests/e2e/Harness.h"
#include "tests/runtime/plan/PlanBuilder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace zerograph::testing {
namespace {

Training stageThree() {
  return {"gpt2-nano", "model_keep_names.onnx", "adamw", /*ranks=*/2,
          /*zero_stage=*/3};
}

/// Verifies a damaged copy. Plans have no hash in memory, so nothing but the
/// checks themselves can give the damage away.
void expectRefused(const plan::Plan &plan, const std::string &what,
                   const std::string &cause) {
  absl::Status status = verifyPlan(plan);
  EXPECT_FALSE(status.ok()) << what << " was not noticed";
  EXPECT_NE(std::string(status.message()).find(cause), std::string::npos)
      << what << " was refused with: " << status.message();
}

class Faults : public ::testing::Test {
protected:
  static const plan::Plan &original() {
    static const plan::Plan plan = compilePlan(stageThree());
    return plan;
  }
  /// Two micro-batches: programs "micro" and "update".
  static const plan::Plan &accumulating() {
    static const plan::Plan plan = [] {
      Training training = stageThree();
      training.accumulate = 2;
      return compilePlan(training);
    }();
    return plan;
  }
  /// Two steps whose accesses `index` have equal size, in different slices.
  std::pair<plan::Step *, plan::Step *>
  alike(int of, int index, const std::function<bool(const plan::Step &)> &is) {
    auto &steps = *plan.mutable_programs(of)->mutable_steps();
    for (plan::Step &a : steps) {
      for (plan::Step &b : steps) {
        if (is(a) && is(b) && a.name() != b.name() &&
            a.accesses(index).bytes() == b.accesses(index).bytes() &&
            a.accesses(index).slice() != b.accesses(index).slice()) {
          return {&a, &b};
        }
      }
    }
    ADD_FAILURE() << "the plan has no two such steps";
    return {&steps[0], &steps[0]};
  }
  plan::Plan plan = original();
  plan::Program &program() { return *plan.mutable_programs(0); }
};

TEST_F(Faults, NoneAsCompiled) { EXPECT_TRUE(verifyPlan(plan).ok()); }

// Every wait that was kept is needed: no single one can go.
TEST_F(Faults, DroppedWait) {
  int dropped = 0;
  for (int step = 0; step < program().steps_size(); ++step) {
    for (int wait = 0; wait < original().programs(0).steps(step).waits_size();
         ++wait) {
      plan = original();
      auto *waits = program().mutable_steps(step)->mutable_waits();
      waits->erase(waits->begin() + wait);
      expectRefused(plan,
                    "dropping wait " + std::to_string(wait) + " of step " +
                        std::to_string(step),
                    "step");
      ++dropped;
    }
  }
  EXPECT_GT(dropped, 10);
}

// No launch can bring less than its kernel touches, or in another way.
TEST_F(Faults, ChangedLaunches) {
  int launches = 0, in_place = 0;
  for (int i = 0; i < program().steps_size(); ++i) {
    if (!original().programs(0).steps(i).has_launch()) {
      continue;
    }
    ++launches;
    std::string which = "of step " + std::to_string(i);
    std::string step = "step " + std::to_string(i) + " of \"step\" (launch";
    plan = original();
    program().mutable_steps(i)->mutable_accesses()->RemoveLast();
    expectRefused(plan, "dropping an access " + which, step);
    plan = original();
    plan::Access *last = program().mutable_steps(i)->mutable_accesses(
        program().steps(i).accesses_size() - 1);
    last->set_bytes(last->bytes() - 1);
    expectRefused(plan, "shrinking an access " + which, step);
    plan = original();
    program().mutable_steps(i)->mutable_accesses(0)->set_mode(plan::READ_WRITE);
    expectRefused(plan, "changing the mode " + which, step);
    // Where a launch works in place, its kernel says that it may.
    plan = original();
    plan::Kernel *kernel =
        plan.mutable_kernels(int(program().steps(i).launch().kernel()));
    bool may = false;
    for (plan::Operand &operand : *kernel->mutable_operands()) {
      may |= operand.in_place_size() != 0;
      operand.clear_in_place();
    }
    if (may && !verifyPlan(plan).ok()) {
      ++in_place;
    }
  }
  EXPECT_GT(launches, 20);
  EXPECT_GT(in_place, 0);
}

TEST_F(Faults, MisalignedSlices) {
  plan.mutable_arenas(0)->set_bytes(plan.arenas(0).bytes() +
                                    plan.arenas(0).alignment());
  for (plan::Slice &slice : *plan.mutable_slices()) {
    slice.set_offset(slice.offset() + 1);
  }
  expectRefused(plan, "moving everything by a byte", "alignment 64");
}

TEST_F(Faults, InputsInOneSlice) {
  ASSERT_GE(plan.inputs_size(), 2);
  plan.mutable_inputs(1)->set_slice(plan.inputs(0).slice());
  expectRefused(plan, "two inputs in a slice", plan.inputs(1).name());
}

TEST_F(Faults, UnknownScalar) {
  plan.mutable_scalars(0)->set_kind(plan::Scalar::Kind(99));
  expectRefused(plan, "an unknown scalar", "\"?99\"");
}

TEST_F(Faults, ReductionsOfIntegers) {
  int changed = 0;
  for (int i = 0; i < program().steps_size(); ++i) {
    plan = original();
    plan::Step *step = program().mutable_steps(i);
    if (step->has_all_reduce()) {
      step->mutable_all_reduce()->set_wire(plan::I32);
      step->mutable_all_reduce()->set_accumulator(plan::I32);
    } else if (step->has_reduce_scatter()) {
      step->mutable_reduce_scatter()->set_wire(plan::I32);
      step->mutable_reduce_scatter()->set_accumulator(plan::I32);
    } else {
      continue;
    }
    ++changed;
    expectRefused(plan, "a sum of integers", "type i32");
  }
  EXPECT_GT(changed, 2);
}

// world * micro-batch * accumulate is 2^64.
TEST_F(Faults, SamplesThatOverflow) {
  plan.set_micro_batch(uint64_t(1) << 63);
  for (plan::Input &input : *plan.mutable_inputs()) {
    input.set_per_sample(false);
  }
  expectRefused(plan, "2^64 samples a step", "samples");
}

TEST_F(Faults, SwappedCollectives) {
  std::vector<int> collectives;
  for (int step = 0; step < program().steps_size(); ++step) {
    if (program().steps(step).has_all_gather()) {
      collectives.push_back(step);
    }
  }
  ASSERT_GE(collectives.size(), 2u);
  plan::Step *a = program().mutable_steps(collectives[0]);
  plan::Step *b = program().mutable_steps(collectives[1]);
  uint32_t sequence = a->sequence();
  a->set_sequence(b->sequence());
  b->set_sequence(sequence);
  expectRefused(plan, "swapping two gathers", "sequence");
}

TEST_F(Faults, ShiftedOffset) {
  // Any activation moved onto a carried slice.
  uint64_t carried = 0;
  for (const plan::Slice &slice : plan.slices()) {
    if (slice.carried()) {
      carried = slice.offset();
    }
  }
  for (plan::Slice &slice : *plan.mutable_slices()) {
    if (!slice.carried() && slice.slice_class() == plan::ACTIVATION) {
      slice.set_offset(carried);
      break;
    }
  }
  expectRefused(plan, "shifting an activation", "overlap");
}

TEST_F(Faults, SwappedUnits) {
  auto gather = [](const plan::Step &step) { return step.has_all_gather(); };
  auto reduce = [](const plan::Step &step) {
    return step.has_reduce_scatter();
  };
  for (const plan::Plan &whole : {original(), accumulating()}) {
    for (int index : {0, 1}) {
      plan = whole;
      auto [a, b] = alike(0, index, gather);
      a->mutable_accesses(index)->Swap(b->mutable_accesses(index));
      expectRefused(plan, "gathering another unit", "wrong unit: ");
    }
    // Their bytes are shared with other steps, so the names are swapped.
    plan = whole;
    auto [a, b] = alike(0, 1, reduce);
    int unit = a->reduce_scatter().unit();
    a->mutable_reduce_scatter()->set_unit(b->reduce_scatter().unit());
    b->mutable_reduce_scatter()->set_unit(unit);
    expectRefused(plan, "reducing another unit", "wrong unit: ");
  }
}

TEST_F(Faults, UpdateFromAnothersGradients) {
  for (const plan::Plan &whole : {original(), accumulating()}) {
    plan = whole;
    auto update = [&](const plan::Step &step) {
      return launchesUpdate(plan, step);
    };
    auto [a, b] = alike(plan.programs_size() - 1, 0, update);
    a->mutable_accesses(0)->Swap(b->mutable_accesses(0));
    expectRefused(plan, "swapping gradients of updates", "wrong unit: ");
  }
}

TEST_F(Faults, UpdatedTwice) {
  for (const plan::Plan &whole : {original(), accumulating()}) {
    plan = whole;
    plan::Program &last = *plan.mutable_programs(plan.programs_size() - 1);
    for (const plan::Step &step : last.steps()) {
      if (launchesUpdate(plan, step)) {
        plan::Step again = step;
        *last.add_steps() = again;
        break;
      }
    }
    expectRefused(plan, "updating twice", "doubled update: ");
  }
}

TEST_F(Faults, SumsNotZeroed) {
  plan = accumulating();
  plan::Program &update = *plan.mutable_programs(1);
  ASSERT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  // The last steps zero; nothing waits for the last of all.
  update.mutable_steps()->RemoveLast();
  expectRefused(plan, "not zeroing", "gradients not zeroed: ");
}

// One of the two sums is made where the other belongs.
TEST_F(Faults, NoAgreement) {
  for (const plan::Plan &whole : {original(), accumulating()}) {
    for (uint32_t slice : {whole.loss().slice(), whole.stop().slice()}) {
      plan = whole;
      int dropped = 0;
      for (plan::Step &step : *program().mutable_steps()) {
        if (step.has_all_reduce() && step.accesses(1).slice() == slice) {
          uint32_t other = slice == whole.loss().slice() ? whole.stop().slice()
                                                         : whole.loss().slice();
          step.mutable_accesses(1)->set_slice(other);
          ++dropped;
        }
      }
      EXPECT_EQ(dropped, 1);
      expectRefused(plan, "not summing", "no agreement: 0 all_reduces");
    }
    plan = whole;
    for (const plan::Scalar &scalar : plan.scalars()) {
      plan.mutable_stop()->set_slice(scalar.slice());
      expectRefused(plan, "stopping by a scalar", "the sum of stop flags");
    }
  }
}

} // namespace
} // namespace zerograph::testing
