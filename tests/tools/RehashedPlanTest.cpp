//===- RehashedPlanTest.cpp - wrong plans whose hash is right -------------===//
//
// A hash shows that a file was damaged, not that what it says is safe. Here
// plans are changed and written again as files with a right hash: `verify` and
// `train` must refuse them for what they do.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Train.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Verify.h"
#include "tests/e2e/Harness.h"

#include "google/protobuf/stubs/logging.h"
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

namespace zerograph::testing {
namespace {

struct Output {
  int code = -1;
  std::string text; // both streams
};

Output runCommand(const std::string &arguments) {
  std::string command = ZEROGRAPH_RUN + (" " + arguments) + " 2>&1";
  Output output;
  std::FILE *pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (size_t count = std::fread(buffer, 1, sizeof(buffer), pipe)) {
    output.text.append(buffer, count);
  }
  int status = pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

class Rehashed : public ::testing::Test {
protected:
  static const plan::Plan &original() {
    static const plan::Plan plan =
        compilePlan({"gpt2-nano", "model_keep_names.onnx", "adamw", 2, 3});
    return plan;
  }

  void SetUp() override {
    folder = std::filesystem::path(::testing::TempDir()) /
             ("rehashed" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  plan::Program &program() { return *plan.mutable_programs(0); }

  /// Writes the changed plan, and expects verifyPlan and both commands to
  /// refuse it, all with `cause` and the number of a step.
  void expectRefused(const std::string &cause) {
    std::string path = folder / "changed.zgplan";
    ASSERT_TRUE(writePlan(plan, path).ok());
    auto loaded = readPlan(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    absl::Status verified = verifyPlan(loaded->plan);
    ASSERT_FALSE(verified.ok());
    expectNames(std::string(verified.message()), cause);

    TrainOptions options;
    options.data = {ZEROGRAPH_MODELS "/gpt2-nano/batches.safetensors"};
    options.plan_path = path;
    options.log = folder / "log.jsonl";
    auto trained = train(*loaded, options);
    ASSERT_FALSE(trained.ok());
    EXPECT_EQ(trained.status().message(), verified.message());
    EXPECT_FALSE(std::filesystem::exists(options.log));

    for (const std::string &command :
         {"verify " + path, "train " + path + " --data " + options.data[0]}) {
      Output output = runCommand(command);
      EXPECT_EQ(output.code, 1) << command << ": " << output.text;
      EXPECT_EQ(output.text.find("zerograph-run "), 0u) << output.text;
      expectNames(output.text, cause);
    }
  }

  static void expectNames(const std::string &message,
                          const std::string &cause) {
    EXPECT_NE(message.find(cause), std::string::npos) << message;
    size_t step = message.find("step ");
    ASSERT_NE(step, std::string::npos) << message;
    EXPECT_TRUE(std::isdigit(message[step + 5])) << message;
  }

  plan::Plan plan = original();
  std::filesystem::path folder;
};

TEST_F(Rehashed, UnchangedIsAccepted) {
  std::string path = folder / "same.zgplan";
  ASSERT_TRUE(writePlan(plan, path).ok());
  Output output = runCommand("verify " + path);
  EXPECT_EQ(output.code, 0) << output.text;
}

TEST_F(Rehashed, DroppedWait) {
  // The last wait of a kernel on a gather: it would read before the bytes come.
  for (int i = 0; i < program().steps_size(); ++i) {
    plan::Step &step = *program().mutable_steps(i);
    if (step.has_launch() && step.waits_size() > 0) {
      step.clear_waits();
      break;
    }
  }
  expectRefused("race");
}

TEST_F(Rehashed, SwappedCollectives) {
  std::vector<plan::Step *> gathers;
  for (int i = 0; i < program().steps_size(); ++i) {
    if (program().steps(i).has_all_gather()) {
      gathers.push_back(program().mutable_steps(i));
    }
  }
  ASSERT_GE(gathers.size(), 2u);
  uint32_t sequence = gathers[0]->sequence();
  gathers[0]->set_sequence(gathers[1]->sequence());
  gathers[1]->set_sequence(sequence);
  expectRefused("sequence");
}

TEST_F(Rehashed, ShiftedOffset) {
  // An activation moved onto memory that keeps parameters.
  uint64_t carried = 0;
  for (const plan::Slice &slice : plan.slices()) {
    carried = slice.carried() ? slice.offset() : carried;
  }
  for (plan::Slice &slice : *plan.mutable_slices()) {
    if (!slice.carried() && slice.slice_class() == plan::ACTIVATION) {
      slice.set_offset(carried);
      break;
    }
  }
  expectRefused("overlap");
}

/// Whatever a single byte of the message becomes, reading, verifying and
/// explaining it end with a plan or an error, never otherwise.
TEST_F(Rehashed, AnyByteMayBeWrong) {
  google::protobuf::LogSilencer silencer;
  auto bytes = serializePlan(original());
  ASSERT_TRUE(bytes.ok());
  size_t header = bytes->size() - original().ByteSizeLong();
  std::string message = bytes->substr(header);
  std::mt19937 random(1);
  int refused = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    std::string changed = message;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
      changed[random() % changed.size()] ^= char(1 + random() % 255);
    }
    plan::Plan parsed;
    if (!parsed.ParseFromString(changed)) {
      ++refused;
      continue;
    }
    LoadedPlan loaded;
    loaded.plan = parsed;
    absl::Status verified = verifyPlan(parsed);
    auto report = inspectPlan(loaded);
    if (report.ok()) {
      EXPECT_TRUE(inspectSummary(loaded, /*exact=*/false).ok());
      for (const InspectSection &section : inspectSections()) {
        EXPECT_FALSE(section.text(*report, /*exact=*/false).empty());
      }
    }
    if (!verified.ok()) {
      EXPECT_FALSE(verified.message().empty());
      ++refused;
    }
  }
  EXPECT_GT(refused, 50); // the rest changed names, reasons or machine code
}

} // namespace
} // namespace zerograph::testing
