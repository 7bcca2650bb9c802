//===- FromTensorsTest.cpp - checkpoints of whole tensors -----------------===//

#include "runtime/checkpoint/FromTensors.h"
#include "StatePlan.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/OwnedPieces.h"
#include "runtime/checkpoint/RunOfPlan.h"
#include "runtime/checkpoint/Verify.h"
#include "tests/support/Says.h"

#include <filesystem>
#include <list>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

class FromTensorsTest : public FolderCase {
protected:
  void SetUp() override {
    FolderCase::SetUp();
    loaded.plan = statePlan({2, true});
    loaded.plan.set_micro_batch(4);
    loaded.plan.set_accumulate(3);
    for (const CheckpointTensor &tensor : savedTensors(loaded.plan, 0)) {
      add(tensor.key(), tensor.type, tensor.shape);
    }
  }

  /// Adds a tensor whose elements are 0.5, 1.5, ...; of BF16 all 1.
  void add(const std::string &key, plan::ElementType type,
           std::vector<uint64_t> shape) {
    TensorExtent extent;
    extent.type = type;
    extent.shape = std::move(shape);
    byteCount(extent.shape, elementSize(type), extent.bytes);
    std::vector<float> &values = storage.emplace_back();
    values.resize(extent.bytes / sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) {
      uint32_t two_ones = 0x3f803f80;
      values[i] = float(i) + 0.5F;
      if (type == plan::BF16) {
        std::memcpy(&values[i], &two_ones, sizeof(float));
      }
    }
    extent.file = File::ofMemory(key, values.data(), extent.bytes);
    tensors[key] = extent;
  }

  absl::StatusOr<std::string> write(const std::string &run) {
    ZG_ASSIGN_OR_RETURN(CheckpointRun where, runAt(loaded, run));
    return writeCheckpoint(loaded, where, tensors, path("c"));
  }

  LoadedPlan loaded;
  std::list<std::vector<float>> storage;
  TensorFile tensors;
};

TEST_F(FromTensorsTest, HasWhatARunWouldHaveWritten) {
  add("w", plan::BF16, {900}); // is converted to the plan's F32
  std::string written =
      write(R"({"steps": 7, "updates": 6, "seed": 3, "shuffle": 5})").value();
  EXPECT_EQ(written, path("c") + "/step-00000007");
  VerifiedCheckpoint verified = verifyCheckpoint(written).value();
  EXPECT_EQ(verified.run.steps, 7u);
  EXPECT_EQ(verified.run.updates, 6u);
  EXPECT_EQ(verified.run.seed, 3u);
  EXPECT_EQ(verified.run.shuffle, 5u);
  EXPECT_EQ(verified.run.samples_per_step, 2 * 3 * 4u);
  EXPECT_EQ(verified.tensors, tensors.size());
  auto checkpoint = Checkpoint::open(written).value();
  for (const CheckpointTensor &tensor : checkpoint->index().tensors) {
    EXPECT_EQ(tensor.type, plan::F32);
    uint64_t elements = tensor.shape[0];
    absl::Status status = checkpoint->read(
        tensor, 0, elements,
        [&](uint64_t first, uint64_t count, const std::byte *data) {
          for (uint64_t i = 0; i < count; ++i) {
            float value = 0;
            std::memcpy(&value, data + i * sizeof(value), sizeof(value));
            EXPECT_EQ(value, tensor.key() == "w" ? 1 : float(first + i) + 0.5F)
                << tensor.key();
          }
          return absl::OkStatus();
        });
    EXPECT_TRUE(status.ok()) << status;
  }
  expectSays(write(R"({"steps": 7, "updates": 6})").status(),
             "there is such a checkpoint already");
}

TEST_F(FromTensorsTest, AllThatDoesNotFitIsSaidAtOnce) {
  tensors.erase("b");
  add("w", plan::F32, {30, 30});
  add("w.exp_avg", plan::I64, {900});
  add("w.exp_avg_sq", plan::F32, {900});
  absl::Status status = write("{}").status();
  for (const char *part :
       {"'b' is missing", "'w' is [30, 30], expected [900]",
        "'w.exp_avg' is of I64, expected F32",
        "the plan has nothing for 'w.exp_avg_sq'", "the same optimizer"}) {
    expectSays(status, part);
  }
  EXPECT_FALSE(std::filesystem::exists(path("c")));
}

TEST_F(FromTensorsTest, ARunIsChecked) {
  expectSays(write("[]").status(), "is no object of JSON");
  expectSays(write(R"({"step": 1})").status(),
             "a run has no field 'step'; there are steps, updates");
  expectSays(write(R"({"steps": 1, "updates": 2})").status(), "'updates'");
  expectSays(write(R"({"seed": -1})").status(), "'seed'");
  expectSays(write(R"({"loss_scale": 3})").status(), "its loss scale");
}

TEST_F(FromTensorsTest, OnlyARunThatHasALossScaleKeepsOne) {
  std::string run = R"({"loss_scale": {"scale": 4096, "steps": 7,
                        "last_overflow": 1, "hysteresis": 2}})";
  EXPECT_FALSE(runAt(loaded, run)->loss_scale);
  EXPECT_EQ(runAt(loaded, R"({"steps": 3})")->updates, 3u);
  loaded.plan.mutable_loss_scale();
  EXPECT_EQ(runAt(loaded, run)->loss_scale->scale, 4096);
}

} // namespace
