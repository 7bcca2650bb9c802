//===- OffloadTest.cpp - traps of what the host or a file keeps -----------===//

#include "tests/config/Read.h"
#include "tests/support/Says.h"

namespace zerograph::config {
namespace {

TEST(OffloadTraps, OffloadOfParametersIsForStage3) {
  for (int stage : {0, 1, 2, 3}) {
    Config config =
        readGood(absl::StrCat(R"({"zero_optimization": {"stage": )", stage,
                              R"(, "offload_optimizer": {"device": "cpu"},
             "offload_param": {"device": "cpu", "pin_memory": true}}})"));
    EXPECT_EQ(linesOf(config.problems), "");
    TranslatedKey meaning =
        meaningOf(config, "zero_optimization.offload_param.device");
    EXPECT_EQ(meaning.does,
              stage == 3 ? KeySupport::Applied : KeySupport::NoEffect);
    EXPECT_EQ(valueOf(config, "offload-param"), stage == 3 ? "cpu" : "");
    if (stage < 3) {
      expectSays(meaning.text, absl::StrCat("with stage ", stage));
    }
  }
}

TEST(OffloadTraps, ParametersAreOffloadedWithTheOptimizerOnly) {
  for (const char *device : {"cpu", "nvme"}) {
    Config config = readGood(absl::StrCat(
        R"({"zero_optimization": {"stage": 3, "offload_param": {"device": ")",
        device, R"("}}})"));
    expectSays(linesOf(config.problems),
               "not built without `offload_optimizer`");
  }
}

TEST(OffloadTraps, OldNamesOfOffload) {
  Config config =
      readGood(R"({"zero_optimization": {"stage": 2, "cpu_offload": true}})");
  EXPECT_EQ(linesOf(config.problems), "");
  EXPECT_EQ(valueOf(config, "offload-optimizer"), "cpu");
  config = readGood(R"({"zero_optimization": {"stage": 2, "cpu_offload": false,
                        "cpu_offload_use_pin_memory": true}})");
  EXPECT_EQ(linesOf(config.problems), "");
}

TEST(OffloadTraps, SuperOffloadIsRefused) {
  auto problems = [](const char *device) {
    return linesOf(
        readGood(absl::StrCat(R"({"zero_optimization": {"stage": 2,
            "offload_optimizer": {"device": ")",
                              device, R"(", "super_offload": true}}})"))
            .problems);
  };
  expectSays(problems("cpu"), "not built yet: ");
  EXPECT_EQ(problems("none"), ""); // then it has no effect
}

TEST(OffloadTraps, OffloadOfAShareIsOfWholeUnits) {
  auto read = [](const char *device) {
    return readGood(absl::StrCat(R"({"zero_optimization": {"stage": 3,
        "offload_optimizer": {"device": ")",
                                 device, R"(", "ratio": 0.3}}})"));
  };
  EXPECT_EQ(valueOf(read("cpu"), "offload-ratio"), "0.3");
  EXPECT_EQ(valueOf(read("none"), "offload-ratio"), "");
}

TEST(OffloadTraps, BothLieInOneFile) {
  auto read = [](const char *optimizer, const char *param, const char *path,
                 const Known &known = {}) {
    return readGood(
        absl::StrCat(
            R"({"zero_optimization": {"stage": 3,
            "offload_optimizer": {"nvme_path": "/a", "device": ")",
            optimizer, R"("}, "offload_param": {"nvme_path": ")", path,
            R"(", "device": ")", param,
            R"("}}, "aio": {"block_size": 262144, "queue_depth": 32}})"),
        known);
  };
  Config config = read("nvme", "nvme", "/a");
  EXPECT_EQ(linesOf(config.problems), "");
  EXPECT_EQ(valueOf(config, "nvme-path"), "/a");
  EXPECT_EQ(valueOf(config, "nvme-block-size"), "262144");
  EXPECT_EQ(valueOf(config, "nvme-queue-depth"), "32");
  expectSays(linesOf(read("nvme", "nvme", "/b").problems),
             "means --nvme-path /b, but ");
  // A path of what does not lie there says nothing.
  EXPECT_EQ(linesOf(read("nvme", "cpu", "/b").problems), "");
  EXPECT_EQ(valueOf(read("nvme", "none", "/b"), "nvme-path"), "/a");
  config = read("cpu", "cpu", "/a");
  EXPECT_EQ(valueOf(config, "nvme-path"), "");
  EXPECT_EQ(valueOf(config, "nvme-queue-depth"), "");
  EXPECT_EQ(linesOf(read("nvme", "nvme", "/a/").problems), "");
  Known known;
  known.options["nvme-path"] = "/c";
  config = read("nvme", "nvme", "/b", known);
  EXPECT_EQ(linesOf(config.problems), "");
  expectSays(linesOf(config.notes),
             "--nvme-path /c of the command line wins over");
  // With stage 2 parameters are not offloaded, and their path is nobody's.
  known = Known();
  known.stage = 2;
  config = read("nvme", "nvme", "/b", known);
  EXPECT_EQ(linesOf(config.problems), "");
  EXPECT_EQ(valueOf(config, "nvme-path"), "/a");
}

TEST(OffloadTraps, ParametersAndTheOptimizerInDifferentPlaces) {
  for (auto [optimizer, param] :
       {std::pair("nvme", "cpu"), std::pair("cpu", "nvme")}) {
    Config config = readGood(absl::StrCat(
        R"({"zero_optimization": {"stage": 3, "offload_optimizer":
            {"device": ")",
        optimizer, R"("}, "offload_param": {"device": ")", param, R"("}}})"));
    EXPECT_EQ(linesOf(config.problems), "");
    EXPECT_EQ(valueOf(config, "offload-optimizer"), optimizer);
    EXPECT_EQ(valueOf(config, "offload-param"), param);
  }
}

} // namespace
} // namespace zerograph::config
