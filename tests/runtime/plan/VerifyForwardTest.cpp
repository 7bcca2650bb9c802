//===- VerifyForwardTest.cpp - plans that train nothing -------------------===//

#include "Faults.h"
#include "tests/support/Says.h"

namespace zerograph {
namespace {

TEST(VerifyForward, AValidPlan) {
  absl::Status status = verifyPlan(testing::forwardPlan());
  EXPECT_TRUE(status.ok()) << status;
}

TEST(VerifyForward, AnOutputIsWrittenWhole) {
  plan::Plan plan = testing::forwardPlan();
  step(plan, 1)->mutable_accesses(1)->set_bytes(60);
  expectFault(plan, kReadBeforeItIsWritten,
              "as output y, and no step writes byte 60");
  plan = testing::forwardPlan();
  step(plan, 1)->mutable_accesses()->DeleteSubrange(2, 1);
  expectFault(plan, kReadBeforeItIsWritten,
              "as output mean, and no step writes byte 0");
}

const Fault kFaults[] = {
    {"which one rank does, and is for 2",
     [](plan::Plan &p) {
       p.mutable_mesh(0)->set_size(2);
       p.set_micro_batch(2);
     }},
    {"runs forward, and has gradients to dump",
     [](plan::Plan &p) { p.set_dump_gradients(true); }},
    {"one that runs forward has none",
     [](plan::Plan &p) { p.add_groups()->set_kind("sgd"); }},
    {"\"forward\", for one micro-batch a step, and accumulates over 2",
     [](plan::Plan &p) { p.set_accumulate(2); }},
    {"has a loss and a stop flag, and one that runs forward has none",
     [](plan::Plan &p) { p.mutable_loss(); }},
    {"a plan that runs forward has outputs",
     [](plan::Plan &p) { p.clear_outputs(); }},
    {"the plan's programs are forward update",
     [](plan::Plan &p) {
       p.add_programs()->set_kind(plan::UPDATE);
       p.add_groups()->set_kind("sgd");
     }},
    {"output \"y\" has no name or a taken one",
     [](plan::Plan &p) { p.mutable_outputs(1)->set_name("y"); }},
    {"output mean has unknown type 0 or no slice",
     [](plan::Plan &p) { p.mutable_outputs(1)->clear_type(); }},
    {"output mean has unknown type 1 or no slice",
     [](plan::Plan &p) { p.mutable_outputs(1)->set_slice(99); }},
    {"holds output y, which outlives programs, and is not carried",
     [](plan::Plan &p) { slice(p, "y")->set_carried(false); }},
    {"output y has not the 64 bytes",
     [](plan::Plan &p) { p.mutable_outputs(0)->set_shape(1, 4); }},
    {"output y is per sample and its leading dimension is not the micro-batch",
     [](plan::Plan &p) {
       p.mutable_outputs(0)->set_shape(0, 4);
       p.mutable_outputs(0)->set_shape(1, 4);
     }},
    {"holds output mean and has class scalar; expected output",
     [](plan::Plan &p) { slice(p, "mean")->set_slice_class(plan::SCALAR); }},
};

TEST(VerifyForward, Faults) { expectInvalid(testing::forwardPlan(), kFaults); }

TEST(VerifyForward, APlanThatTrainsHasNoOutputs) {
  plan::Plan plan = testing::stageThreePlan();
  *plan.add_outputs() = testing::forwardPlan().outputs(0);
  expectSays(verifyPlan(plan), "one that trains has none; there are 1");
  plan = testing::stageThreePlan();
  plan.clear_stop();
  expectSays(verifyPlan(plan), "a plan that trains has a loss and a stop");
}

} // namespace
} // namespace zerograph
