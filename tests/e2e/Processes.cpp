//===- Processes.cpp - a training under mpirun ----------------------------===//

#include "tests/e2e/Processes.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace zerograph::testing {
namespace {

std::string quoted(const std::string &text) { return "'" + text + "'"; }

std::string textOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A shell's line. In a container mpirun runs as root, and with more ranks than
/// processors.
std::string commandOf(const Training &training, uint32_t seed,
                      const std::string &folder) {
  const char *paths = std::getenv("LD_LIBRARY_PATH");
  std::vector<std::string> words = {
      absl::StrCat("ZEROGRAPH_EMULATOR_SEED=", seed),
      "ZEROGRAPH_EMULATOR_GPUS=1",
      "LD_LIBRARY_PATH=" +
          quoted(absl::StrCat(ZEROGRAPH_EMULATOR, ":", paths ? paths : "")),
      "OMPI_ALLOW_RUN_AS_ROOT=1",
      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
      quoted(ZEROGRAPH_MPIRUN),
      "--oversubscribe --bind-to none -n",
      absl::StrCat(training.ranks),
      quoted(ZEROGRAPH_RUN),
      "train plan --deadline 120 --data",
      quoted(dataOf(training)),
      absl::StrCat("--steps ", training.steps),
      absl::StrCat("--threads ", training.threads),
      absl::StrCat("--seed ", training.seed),
      training.graphs == Graphs::Off   ? "--graph off"
      : training.graphs == Graphs::All ? "--graph all"
                                       : "--graph compute",
      "--log log --save-weights weights --dump-states states",
      training.gradients ? "--dump-gradients gradients" : "",
      "</dev/null >out 2>errors"};
  return absl::StrCat("cd ", quoted(folder), " && ", absl::StrJoin(words, " "));
}

std::vector<double> lossesIn(const std::string &log) {
  std::vector<double> losses;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    losses.push_back(nlohmann::json::parse(line)["loss"]);
  }
  return losses;
}

/// Nothing was wrong or left: of each process, how much it has launched, and no
/// other line of an emulator.
void expectGoodEnd(const std::string &errors, int64_t ranks,
                   const std::string &what) {
  std::map<std::string, int64_t> counts;
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    for (const char *begin : {"emulated NCCL: ", "emulated GPU: "}) {
      absl::string_view rest = line;
      uint64_t launches = 0;
      if (absl::ConsumePrefix(&rest, begin)) {
        EXPECT_TRUE(absl::ConsumeSuffix(&rest, " launches") &&
                    absl::SimpleAtoi(rest, &launches) && launches > 0)
            << what << ": " << line;
        ++counts[begin];
      }
    }
  }
  EXPECT_EQ(counts["emulated GPU: "], ranks) << what << ":\n" << errors;
  EXPECT_EQ(counts["emulated NCCL: "], ranks) << what << ":\n" << errors;
}

} // namespace

Outcome trainProcesses(const Training &training, uint32_t seed) {
  Outcome outcome;
  Folder scratch;
  std::optional<LoadedPlan> plan =
      compileInto(training, scratch.path + "/plan");
  if (!plan) {
    return outcome;
  }
  outcome.plan = plan->plan;
  std::string what = training.describe();
  int status = std::system(commandOf(training, seed, scratch.path).c_str());
  std::string errors = textOf(scratch.path + "/errors");
  EXPECT_EQ(status, 0) << what << ":\n" << errors;
  if (status != 0) {
    return outcome;
  }
  expectGoodEnd(errors, training.ranks, what);
  outcome.result.losses = lossesIn(textOf(scratch.path + "/log"));
  outcome.parameters = loadArrays(scratch.path + "/weights");
  outcome.states = loadArrays(scratch.path + "/states");
  if (training.gradients) {
    outcome.gradients = loadArrays(scratch.path + "/gradients");
  }
  return outcome;
}

} // namespace zerograph::testing
