//===- OptionRulesTest.cpp - what must hold between options ---------------===//

#include "tools/cli/OptionRules.h"
#include "tests/support/Says.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>

namespace zerograph {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Checks what a command line gives.
template <typename Fields>
absl::StatusOr<std::set<std::string>>
check(std::vector<std::string> arguments) {
  Fields fields;
  CLI::App app;
  addOptions(app, kTrains, fields);
  for (CLI::Option *option : app.get_options()) {
    option->required(false);
  }
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return checkRules(app, fields);
}

std::string errorOf(const std::vector<std::string> &arguments) {
  return std::string(check<options::Compile>(arguments).status().message());
}

TEST(OptionRules, AskForAnOption) {
  EXPECT_EQ(errorOf({"--loss-on", "x"}),
            "--loss-on x needs --loss, which is not given");
  EXPECT_EQ(errorOf({"--loss-on", "x", "--loss", "mse"}), "");
  // A default counts where a rule does not ask for a choice.
  EXPECT_EQ(errorOf({"--lora-alpha", "8"}),
            "--lora-alpha 8 needs --lora, which is not given");
}

TEST(OptionRules, AskForAValue) {
  EXPECT_EQ(
      errorOf({"--shift-labels"}),
      "--shift-labels needs --loss cross_entropy|nll, which is not given");
  EXPECT_EQ(errorOf({"--shift-labels", "--loss", "mse"}),
            "--shift-labels needs --loss cross_entropy|nll, and --loss is mse");
  EXPECT_EQ(errorOf({"--shift-labels", "--loss", "NLL"}), "");
  EXPECT_EQ(errorOf({"--reduction", "nccl", "--target", "host:native"}),
            "--reduction nccl needs --target cuda:*, and --target is "
            "host:native: NCCL runs there alone");
  EXPECT_EQ(errorOf({"--reduction", "nccl", "--target", "cuda:sm_90"}), "");
}

TEST(OptionRules, ExcludeWhatIsNotADefault) {
  std::vector<std::string> given = {
      "--precision", "fp16", "--loss-scale", "128", "--loss-scale-window", "9"};
  EXPECT_EQ(errorOf(given),
            "--loss-scale-window 9 excludes --loss-scale 128: a scale that is "
            "given never changes; give one of them");
  given[3] = "0"; // dynamic
  EXPECT_EQ(errorOf(given), "");
  EXPECT_EQ(check<options::Train>({"--steps", "3", "--epochs", "2"})
                .status()
                .message(),
            "--epochs 2 excludes --steps 3; give one of them");
}

TEST(OptionRules, DoNotLookAtAChoiceThatIsTheDefault) {
  EXPECT_EQ(errorOf({"--reduce", "each", "--zero", "3", "--offload-param",
                     "none", "--master-precision", "fp32"}),
            "");
}

TEST(OptionRules, NameAllContradictionsAtOnce) {
  std::string error = errorOf(
      {"--zero", "2", "--offload-param", "nvme", "--offload-gradients", "cpu"});
  expectSays(error,
             "--offload-param nvme needs --zero 3, and "
             "--zero is 2: with less,",
             "\n  --offload-param nvme needs "
             "--offload-optimizer, which is not given",
             "\n  --offload-gradients cpu needs");
  EXPECT_THAT(error, Not(HasSubstr("no effect"))); // a warning
}

TEST(OptionRules, TellWhatHasNoEffect) {
  auto idle = [](const std::vector<std::string> &given) {
    return *check<options::Compile>(given);
  };
  std::set<std::string> prefetch = {"prefetch"}, tf32 = {"allow-tf32"};
  EXPECT_EQ(idle({"--prefetch", "1"}), prefetch);
  EXPECT_EQ(idle({"--prefetch", "1", "--zero", "3"}).size(), 0u);
  // One of two libraries will do, and the first is the default.
  std::vector<std::string> given = {"--allow-tf32", "--target", "cuda:sm_90"};
  EXPECT_EQ(idle(given).size(), 0u);
  given.insert(given.end(), {"--matmul", "generated"});
  EXPECT_EQ(idle(given), tf32);
  given.insert(given.end(), {"--convolution", "library"});
  EXPECT_EQ(idle(given).size(), 0u);
  // Processes that were started may decide the ranks: one is not given here.
  EXPECT_EQ(idle({"--reduce", "last", "--accumulate", "2"}).size(), 0u);
  EXPECT_EQ(idle({"--reduce", "last", "--accumulate", "2", "--ranks", "1"}),
            (std::set<std::string>{"reduce"}));
}

} // namespace
} // namespace zerograph
