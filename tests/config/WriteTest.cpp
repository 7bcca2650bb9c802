//===- WriteTest.cpp - the DeepSpeed file of options ----------------------===//

#include "config/Write.h"
#include "tests/config/Read.h"
#include "tests/support/Says.h"

namespace zerograph::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Options = std::map<std::string, std::string>;

/// Written where nothing else is said.
const Options kDefaults = {{"optimizer", "adamw"},
                           {"lr", "0.001"},
                           {"weight-decay", "0.01"},
                           {"accumulate", "1"}};

/// Expects that what is written means the same when it is read.
void expectSame(const Options &options, Options implied = kDefaults) {
  Written file = writeDeepSpeed(options);
  EXPECT_THAT(file.without, ElementsAre()) << file.json;
  Config config = readGood(file.json);
  EXPECT_EQ(linesOf(config.problems), "") << file.json;
  Options back;
  for (const Setting &setting : config.settings) {
    back[setting.option] = setting.value;
  }
  for (const auto &[option, value] : options) {
    implied[option] = value;
  }
  EXPECT_EQ(back, implied) << file.json;
}

TEST(Write, SaysWhatOptionsSay) {
  expectSame({});
  expectSame({{"zero", "3"}, {"lr", "0.0003"}, {"clip-norm", "0.5"}});
  expectSame({{"ranks", "4"},
              {"micro-batch", "2"},
              {"accumulate", "8"},
              {"zero", "1"},
              {"bucket-bytes", "4000000"}});
  expectSame({{"zero", "3"},
              {"prefetch", "0"},
              {"persistence-threshold", "1000"},
              {"bucket-bytes", "400"}});
  expectSame({{"precision", "bf16"},
              {"reduce-precision", "fp32"},
              {"betas", "0.8,0.95"},
              {"eps", "1e-06"},
              {"weight-decay", "0.1"}});
  expectSame({{"optimizer", "sgd"}, {"momentum", "0.9"}, {"nesterov", "true"}},
             {{"lr", "0.001"}, {"accumulate", "1"}});
  expectSame({{"optimizer", "adam"}}, {{"lr", "0.001"}, {"accumulate", "1"}});
}

TEST(Write, SaysWhatFollowsFromAStep) {
  Written file = writeDeepSpeed(
      {{"ranks", "4"}, {"micro-batch", "2"}, {"global-batch", "64"}});
  EXPECT_EQ(file.without, std::vector<std::string>());
  Config config = readGood(file.json);
  EXPECT_EQ(valueOf(config, "ranks"), "4");
  EXPECT_EQ(valueOf(config, "micro-batch"), "2");
  EXPECT_EQ(valueOf(config, "accumulate"), "8");
}

TEST(Write, SaysWhatWatchesARun) {
  expectSame({{"tensorboard", "runs/one"}, {"print-every", "20"}});
}

TEST(Write, SaysSchedules) {
  expectSame({{"schedule", "warmup"},
              {"lr", "0.1"},
              {"warmup-steps", "10"},
              {"warmup-type", "linear"}});
  expectSame({{"schedule", "warmup-decay"},
              {"lr", "0.1"},
              {"total-steps", "100"},
              {"warmup-steps", "10"}});
  expectSame({{"schedule", "warmup-cosine"},
              {"lr", "0.1"},
              {"total-steps", "100"},
              {"cosine-min-ratio", "0.01"}});
}

/// DeepSpeed refuses these schedules without it.
TEST(Write, SaysWhereASchedulesEndIsNotKnown) {
  for (const char *schedule : {"warmup-decay", "warmup-cosine"}) {
    expectSame({{"schedule", schedule}, {"lr", "0.1"}});
    Written file = writeDeepSpeed({{"schedule", schedule}});
    expectSays(file.json, "\"total_num_steps\": \"auto\"");
    EXPECT_THAT(file.notes, ElementsAre(HasSubstr("give --total-steps")));
    file = writeDeepSpeed({{"schedule", schedule}, {"steps", "50"}});
    expectSays(file.json, "\"total_num_steps\": 50");
    EXPECT_THAT(file.notes, ElementsAre());
    EXPECT_THAT(file.without, ElementsAre("steps"));
  }
  EXPECT_THAT(writeDeepSpeed({{"schedule", "warmup"}}).json,
              testing::Not(HasSubstr("total_num_steps")));
}

TEST(Write, SaysWhetherBetasAreCycled) {
  Options cycle = {
      {"schedule", "one-cycle"}, {"lr", "0.1"}, {"cycle-min-lr", "0.01"}};
  expectSame(cycle);
  cycle.insert({{"cycle-min-momentum", "0.85"},
                {"cycle-max-momentum", "0.95"},
                {"betas", "0.95,0.99"}});
  expectSame(cycle);
  cycle["betas"] = "0.95,0.999"; // there it is 0.99
  Written file = writeDeepSpeed(cycle);
  EXPECT_THAT(file.without,
              ElementsAre("cycle-max-momentum", "cycle-min-momentum"));
  expectSays(file.json, "\"cycle_momentum\": false");
}

TEST(Write, SaysThatUnitsAreComputedAgain) {
  expectSame({{"recompute", "units"}});
  expectSame({{"recompute", "units"}, {"offload-activations", "cpu"}});
  // No key sets a budget, so the file has neither option, and says so.
  Written file =
      writeDeepSpeed({{"recompute", "auto"}, {"offload-activations", "cpu"}});
  EXPECT_THAT(file.without, ElementsAre("offload-activations", "recompute"));
}

TEST(Write, SaysHowGradientsTravel) {
  expectSame({{"reduce-precision", "bf16"}});
}

/// DeepSpeed sends what it computes with, where nobody says it.
TEST(Write, SaysThatGradientsTravelInFloat32) {
  for (const char *half : {"bf16", "fp16"}) {
    Written file = writeDeepSpeed({{"precision", half}});
    expectSays(file.json, "\"communication_data_type\": \"fp32\"");
  }
  EXPECT_THAT(writeDeepSpeed({{"precision", "fp32"}}).json,
              testing::Not(HasSubstr("communication_data_type")));
}

TEST(Write, ClipsNothingAtInfinity) {
  Written file = writeDeepSpeed({{"clip-norm", "inf"}});
  expectSays(file.json, "\"gradient_clipping\": 0.0");
  EXPECT_THAT(file.notes, ElementsAre(HasSubstr("--clip-norm inf clips "
                                                "nothing")));
  EXPECT_THAT(file.without, ElementsAre());
  EXPECT_EQ(valueOf(readGood(file.json), "clip-norm"), "");
  EXPECT_THAT(writeDeepSpeed({{"clip-norm", "2"}}).notes, ElementsAre());
}

TEST(Write, HasNoNumbersOfAScheduleWithoutAType) {
  for (const char *schedule : {"constant", "linear", "cosine"}) {
    Written file = writeDeepSpeed(
        {{"schedule", schedule}, {"warmup-steps", "5"}, {"total-steps", "50"}});
    EXPECT_THAT(file.without,
                ElementsAre("schedule", "total-steps", "warmup-steps"));
    EXPECT_THAT(file.json, testing::Not(HasSubstr("scheduler")));
  }
  EXPECT_THAT(writeDeepSpeed({{"warmup-steps", "5"}}).without,
              ElementsAre("warmup-steps"));
}

TEST(Write, SaysWhatDeepSpeedWouldDoOtherwise) {
  std::string json = writeDeepSpeed({{"zero", "2"}}).json;
  expectSays(json, "\"gradient_clipping\": 0.0", "\"weight_decay\": 0.01");
  expectSays(writeDeepSpeed({{"optimizer", "adam"}}).json,
             "\"adam_w_mode\": false");
}

TEST(Write, NamesWhatHasNoKey) {
  Written file = writeDeepSpeed({{"zero", "2"},
                                 {"target", "cuda:native"},
                                 {"dim", "seq=4"},
                                 {"schedule", "cosine"},
                                 {"prefetch", "0"}});
  EXPECT_THAT(file.without,
              ElementsAre("dim", "prefetch", "schedule", "target"));
}

} // namespace
} // namespace zerograph::config
