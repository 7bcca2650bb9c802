//===- VerifyOffloadTest.cpp - seeded faults in what the host updates -----===//

#include "Faults.h"

namespace zerograph {
namespace {

/// Puts a slice after the others of another arena.
void moveTo(plan::Plan &plan, const std::string &name, int arena) {
  slice(plan, name)->set_arena(uint32_t(arena));
  slice(plan, name)->set_offset(plan.arenas(arena).bytes());
  testing::stateSizes(plan);
}

/// Steps of `offloadingPlan`.
enum : int { kGradients = 5, kUpdating = 7, kParameters = 8, kGathering = 9 };

TEST(VerifyOffload, WhatCrossesIsWhatItIsSaidToBe) {
  plan::Plan plan = testing::offloadingPlan();
  ASSERT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  slice(plan, "a/offloaded")->set_slice_class(plan::PARAM_SHARD);
  expectFault(plan, kWrongCopy, "param_shard that holds gradients [");
}

TEST(VerifyOffload, AnotherRanksGradients) {
  // All ranks offload the first rank's part.
  plan::Plan plan = testing::offloadingPlan();
  step(plan, kGradients)->mutable_accesses(0)->clear_strides();
  expectFault(plan, kWrongCopy, "copies gradients [0, + 256)");
}

TEST(VerifyOffload, AnotherRanksParameters) {
  plan::Plan plan = testing::offloadingPlan();
  step(plan, kParameters)->mutable_accesses(1)->clear_strides();
  expectFault(plan, kWrongCopy, "copy a/master");
}

TEST(VerifyOffload, ParametersThatStayOnTheHost) {
  plan::Plan plan = testing::offloadingPlan();
  step(plan, kParameters)
      ->mutable_accesses(0)
      ->set_slice(testing::sliceNamed(plan, "a/offloaded"));
  expectFault(plan, kWrongCopy, "copies gradients");
}

TEST(VerifyOffload, ParametersOfTheStepBefore) {
  // The fetch comes before the update, which waits for it.
  plan::Plan plan = testing::offloadingPlan();
  plan.mutable_programs(0)->mutable_steps()->SwapElements(kUpdating,
                                                          kParameters);
  step(plan, kUpdating)->clear_waits();
  step(plan, kParameters)->add_waits(kUpdating);
  step(plan, kGathering)->add_waits(kUpdating);
  expectFault(plan, kEarlyCopy, "copy a/master");
}

TEST(VerifyOffload, AMomentInPlaceOfParameters) {
  plan::Plan plan = testing::offloadingPlan();
  moveTo(plan, "a/exp_avg", testing::kPinned);
  step(plan, kParameters)
      ->mutable_accesses(0)
      ->set_slice(testing::sliceNamed(plan, "a/exp_avg"));
  expectFault(plan, kWrongCopy, "expected the values of the same elements");
}

TEST(VerifyOffload, EachSideReachesItsOwnMemory) {
  plan::Plan plan = testing::offloadingPlan();
  moveTo(plan, "a/exp_avg", testing::kDevice);
  expectFault(plan, kWrongSpace, "which device 1 does not reach");
  plan = testing::offloadingPlan();
  step(plan, kUpdating)->set_stream(testing::kCompute);
  expectFault(plan, kInvalidStep, "of device 1 on a stream of another");
}

TEST(VerifyOffload, EachWayHasItsStream) {
  plan::Plan plan = testing::offloadingPlan();
  step(plan, kParameters)->set_stream(testing::kOffload);
  expectFault(plan, kWrongStream,
              "copies from pinned to device are on streams of kind copy_in");
  // The device reaches pinned memory, and nothing else of the host's.
  plan = testing::offloadingPlan();
  moveTo(plan, "a/master", testing::kHost);
  expectFault(plan, kWrongStream, "nothing copies from host to device");
}

/// Steps of `filePlan`.
enum : int {
  kReadMaster = 7,
  kReadMoment,
  kUpdates,
  kFetches,
  kWriteMaster,
  kWriteMoment
};

TEST(VerifyFile, WhatIsReadIsWhatItIsSaidToBe) {
  plan::Plan plan = testing::filePlan();
  ASSERT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  slice(plan, "a/master read")->set_slice_class(plan::GRAD_SHARD);
  expectFault(plan, kWrongCopy, "grad_shard that holds masters [");
}

TEST(VerifyFile, AStateThatIsWrittenOverAnother) {
  plan::Plan plan = testing::filePlan();
  step(plan, kWriteMaster)
      ->mutable_accesses(0)
      ->set_slice(testing::sliceNamed(plan, "a/exp_avg read"));
  expectFault(plan, kWrongCopy, "optimizer that holds masters [");
  // Or that is read for another.
  plan = testing::filePlan();
  step(plan, kReadMaster)
      ->mutable_accesses(0)
      ->set_slice(testing::sliceNamed(plan, "a/exp_avg"));
  expectFault(plan, kWrongCopy, "copies \"exp_avg\" [");
}

TEST(VerifyFile, AStateOfTheStepBefore) {
  // It is written back before the update.
  plan::Plan plan = testing::filePlan();
  plan.mutable_programs(0)->mutable_steps()->SwapElements(kUpdates,
                                                          kWriteMaster);
  step(plan, kUpdates)->clear_waits();
  step(plan, kUpdates)->add_waits(kReadMoment);
  step(plan, kWriteMaster)->add_waits(kUpdates);
  step(plan, kWriteMoment)->add_waits(kWriteMaster);
  step(plan, kFetches)->clear_waits();
  step(plan, kFetches)->add_waits(kUpdates);
  expectFault(plan, kEarlyCopy, "copies masters [");
}

TEST(VerifyFile, AStateThatIsNotWrittenBack) {
  plan::Plan plan = testing::filePlan();
  *step(plan, kWriteMoment) = *step(plan, kWriteMaster);
  step(plan, kWriteMoment)->clear_waits();
  expectFault(plan, kDoubledUpdate, "copy a/master read");
  expectFault(plan, kMissingUpdate, "exp_avg");
}

/// Steps of `fileParametersPlan`.
enum : int { kUpdatesAll = 12, kWritesMaster, kWritesParameters = 15 };

TEST(VerifyFile, ParametersThatAreWrittenWhileTheyAreRead) {
  plan::Plan plan = testing::fileParametersPlan();
  ASSERT_TRUE(verifyPlan(plan).ok()) << verifyPlan(plan);
  step(plan, kWritesMaster)->clear_waits();
  expectFault(plan, kMissingWait,
              "step 15 of \"step\" (copy, copy a/param made) writes ");
}

TEST(VerifyFile, ParametersThatNoUpdateMade) {
  // Writes back what was read for the gather.
  plan::Plan plan = testing::fileParametersPlan();
  step(plan, kWritesParameters)
      ->mutable_accesses(0)
      ->set_slice(testing::sliceNamed(plan, "a/param read"));
  expectFault(plan, kEarlyCopy, "copies parameters [");
  // Half of them.
  plan = testing::fileParametersPlan();
  step(plan, kUpdatesAll)->mutable_accesses(4)->set_bytes(512);
  expectFault(plan, kEarlyCopy, "copies parameters [");
  // Written before.
  plan = testing::fileParametersPlan();
  plan.mutable_programs(0)->mutable_steps()->SwapElements(kUpdatesAll,
                                                          kWritesParameters);
  expectFault(plan, kEarlyCopy, "copies parameters [");
}

TEST(VerifyFile, ParametersThatAreSomethingElse) {
  plan::Plan plan = testing::fileParametersPlan();
  step(plan, kWritesParameters)
      ->mutable_accesses(0)
      ->set_slice(testing::sliceNamed(plan, "a/offloaded"));
  expectFault(plan, kWrongCopy, "copies gradients [");
  plan = testing::fileParametersPlan();
  step(plan, kWritesParameters)
      ->mutable_accesses(1)
      ->set_slice(testing::sliceNamed(plan, "a/master"));
  expectFault(plan, kMissingUpdate, "state \"param\"");
}

TEST(VerifyFile, NoPageIsOfTwoSlices) {
  plan::Plan plan = testing::filePlan();
  plan.mutable_arenas(testing::kFile)->set_alignment(64);
  expectFault(plan, kInvalidArena, "a file and has alignment 64");
}

TEST(VerifyFile, OnlyCopiesReachIt) {
  plan::Plan plan = testing::filePlan();
  step(plan, kUpdates)
      ->mutable_accesses(3)
      ->set_slice(testing::sliceNamed(plan, "a/exp_avg"));
  expectFault(plan, kWrongSpace, "in nvme, which only copies reach");
  plan = testing::filePlan();
  step(plan, kReadMaster)->set_stream(testing::kWrite);
  expectFault(plan, kWrongStream,
              "copies from nvme to pinned are on streams of kind file_read");
}

} // namespace
} // namespace zerograph
