//===- PlanTest.cpp - what a plan states is what a run does ---------------===//

#include "runtime/plan/Memory.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Verify.h"
#include "tests/e2e/Harness.h"
#include "tests/support/Says.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <map>
#include <set>
#include <sys/wait.h>

namespace zerograph::testing {
namespace {

Training nano(int64_t ranks, int64_t stage) {
  Training training{"gpt2-nano", "model_keep_names.onnx", "adamw", ranks,
                    stage};
  training.steps = 2;
  return training;
}

// The harness expects the whole account of each run it makes; where the highest
// slice is no working space, the byte is the same too.
TEST(Plan, MemoryIsExact) {
  int exact = 0;
  for (int64_t ranks : {1, 2, 4}) {
    for (int64_t stage = 0; stage < 4; ++stage) {
      for (int64_t accumulate : {1, 2}) {
        Training training = nano(ranks, stage);
        training.accumulate = accumulate;
        Outcome outcome = trainModel(training);
        for (const exec::RankReport &rank : outcome.result.ranks) {
          uint64_t peak = peakOf(outcome.plan, 0);
          if (writtenEnd(outcome.plan, 0) == peak) {
            EXPECT_EQ(rank.touched(0), peak) << training.describe();
            ++exact;
          }
        }
      }
    }
  }
  EXPECT_GT(exact, 0);
}

// With one sample a rank, a bias's gradient is a product's own operand.
TEST(Plan, OfOneSampleIsSafe) {
  for (const char *model : {"mlp-digits", "resnet-mini"}) {
    for (int64_t stage : {0, 3}) {
      for (const char *matmul : {"library", "generated"}) {
        Training training{model, "model.onnx", "adamw", 2, stage};
        training.micro_batch = 1;
        training.matmul = matmul;
        EXPECT_EQ(verifyPlan(compilePlan(training)), absl::OkStatus())
            << training.describe();
      }
    }
  }
}

uint64_t stateOf(const plan::Plan &plan) {
  ModelState bytes = modelState(plan);
  return bytes.parameters + bytes.gradients + bytes.optimizer;
}

// Each stage holds less model state than the one before, at 4 ranks, and where
// activations are small, so does the whole arena. Except stage 2: a unit is
// updated as soon as its gradients are summed, in every stage, so that there
// are no sums of all units of which stage 2 could keep less than stage 1.
TEST(Plan, MemoryFallsWithTheStage) {
  uint64_t state = ~uint64_t(0), peak = ~uint64_t(0);
  for (int64_t stage = 0; stage < 4; ++stage) {
    Training training = nano(4, stage);
    training.micro_batch = 1;
    training.sequence = 16;
    plan::Plan plan = compilePlan(training);
    if (stage == 2) {
      EXPECT_EQ(stateOf(plan), state);
      EXPECT_EQ(peakOf(plan, 0), peak);
    } else {
      EXPECT_LT(stateOf(plan), state) << "stage " << stage;
      EXPECT_LT(peakOf(plan, 0), peak) << "stage " << stage;
    }
    state = stateOf(plan);
    peak = peakOf(plan, 0);
  }
}

// However long a bucket is, no stage keeps the gradients of all units.
TEST(Plan, GradientsAreShortLived) {
  for (int64_t stage = 0; stage < 4; ++stage) {
    Training training = nano(4, stage);
    training.bucket_bytes = 100000; // several segments a unit
    ModelState bytes = modelState(compilePlan(training));
    EXPECT_LT(bytes.gradients, 2'000'000u) << "stage " << stage;
  }
}

/// How often a step gathers each unit.
std::map<std::string, int> gathersOf(const plan::Plan &plan) {
  std::map<std::string, int> gathers;
  for (const plan::Step &step : plan.programs(0).steps()) {
    if (step.has_all_gather()) {
      ++gathers[plan.units(step.all_gather().unit()).name()];
    }
  }
  return gathers;
}

// Parameters of a block that are several units, since they are updated or kept
// in another way, are gathered as often as the block would be, and computed
// again as if they were one.
TEST(Plan, PartsOfABlockAreGatheredTogether) {
  for (const char *recompute : {"none", "units"}) {
    Training training = nano(4, 3);
    training.recompute = recompute;
    plan::Plan plain = compilePlan(training);
    training.also = [](CompileOptions &options) { options.no_decay = true; };
    plan::Plan grouped = compilePlan(training);
    EXPECT_LT(peakOf(grouped, 0), peakOf(plain, 0) * 1.01) << recompute;
    training.also = nullptr;
    training.lora = {"4:*"};
    plan::Plan adapted = compilePlan(training);
    EXPECT_LT(peakOf(adapted, 0), peakOf(plain, 0)) << recompute;
    std::string block = "transformer.h.0";
    int once = gathersOf(plain).at(block);
    EXPECT_EQ(gathersOf(grouped).at(block), once);
    EXPECT_EQ(gathersOf(grouped).at(block + ".group1"), once);
    EXPECT_EQ(gathersOf(adapted).at(block), once);
    EXPECT_EQ(gathersOf(adapted).at(block + ".frozen"), once);
  }
}

// The same input gives the same bytes.
TEST(Plan, IsDeterministic) {
  for (int64_t stage : {0, 3}) {
    auto once = serializePlan(compilePlan(nano(2, stage)));
    auto again = serializePlan(compilePlan(nano(2, stage)));
    ASSERT_TRUE(once.ok() && again.ok());
    EXPECT_TRUE(*once == *again) << "stage " << stage;
  }
}

// The kernel module needs nothing of the process that loads it: no undefined
// symbol, no other library. It has a symbol for every kernel.
TEST(Plan, KernelModuleStandsAlone) {
  plan::Plan plan = compilePlan(nano(2, 3));
  const std::string &elf = plan.modules(0).elf();
  auto at = [&](uint64_t offset, uint64_t bytes) {
    EXPECT_LE(offset + bytes, elf.size());
    return elf.data() + offset;
  };
  Elf64_Ehdr header;
  std::memcpy(&header, at(0, sizeof(header)), sizeof(header));
  ASSERT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(),
              at(header.e_shoff, sections.size() * sizeof(Elf64_Shdr)),
              sections.size() * sizeof(Elf64_Shdr));
  std::set<std::string> defined;
  for (const Elf64_Shdr &section : sections) {
    if (section.sh_type == SHT_DYNSYM) {
      const Elf64_Shdr &names = sections.at(section.sh_link);
      for (uint64_t i = 1; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
        Elf64_Sym symbol;
        std::memcpy(&symbol,
                    at(section.sh_offset + i * sizeof(symbol), sizeof(symbol)),
                    sizeof(symbol));
        std::string name = at(names.sh_offset + symbol.st_name, 1);
        EXPECT_NE(symbol.st_shndx, SHN_UNDEF) << name;
        defined.insert(name);
      }
    } else if (section.sh_type == SHT_DYNAMIC) {
      for (uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Dyn); ++i) {
        Elf64_Dyn entry;
        std::memcpy(&entry,
                    at(section.sh_offset + i * sizeof(entry), sizeof(entry)),
                    sizeof(entry));
        EXPECT_NE(entry.d_tag, DT_NEEDED);
      }
    }
  }
  for (const plan::Kernel &kernel : plan.kernels()) {
    EXPECT_TRUE(defined.count(kernel.symbol())) << kernel.symbol();
  }
}

// Compiled plans of every kind pass, and waste nothing. gpt2-nano's for other
// numbers of ranks are verified before they train, above.
TEST(Plan, NoFalseAlarm) {
  for (int64_t ranks : {1, 2, 3}) {
    for (int64_t stage = 0; stage < 4; ++stage) {
      for (int64_t accumulate : {1, 2}) {
        for (std::string model : {"gpt2-nano", "mlp-digits"}) {
          Training training{model, "model.onnx", "adamw", ranks, stage};
          if (model == "gpt2-nano" && ranks != 3) {
            continue;
          }
          training.accumulate = accumulate;
          training.micro_batch = 2;
          training.gradients = accumulate == 2 && stage > 1;
          auto waste = findWaste(compilePlan(training));
          ASSERT_TRUE(waste.ok()) << training.describe() << waste.status();
          EXPECT_EQ(waste->size(), 0u) << training.describe() << (*waste)[0];
        }
      }
    }
  }
}

// A compiled plan has no wait too many: without any one of them two steps race.
// Plans have no hash in memory, so only the checks can give it away.
TEST(Plan, EveryWaitIsNeeded) {
  const plan::Plan plan = compilePlan(nano(2, 3));
  int waits = 0;
  for (int s = 0; s < plan.programs(0).steps_size(); ++s) {
    for (int i = 0; i < plan.programs(0).steps(s).waits_size(); ++i, ++waits) {
      plan::Plan changed = plan;
      auto *kept =
          changed.mutable_programs(0)->mutable_steps(s)->mutable_waits();
      kept->erase(kept->begin() + i);
      EXPECT_FALSE(verifyPlan(changed).ok()) << "step " << s << ", wait " << i;
    }
  }
  EXPECT_GT(waits, 10);
}

// A right hash shows that a file is whole, not that it is safe: the commands
// refuse what verifyPlan does, and say what it says.
TEST(Plan, CommandsCheckAFileWhoseHashIsRight) {
  plan::Plan plan = compilePlan(nano(2, 3));
  for (plan::Step &step : *plan.mutable_programs(0)->mutable_steps()) {
    step.clear_waits();
  }
  Folder folder;
  std::string path = folder.path + "/plan";
  ASSERT_TRUE(writePlan(plan, path).ok());
  std::string why(verifyPlan(plan).message());
  ASSERT_FALSE(why.empty());
  for (const std::string &command :
       {"verify " + path, "train " + path +
                              " --data " ZEROGRAPH_MODELS
                              "/gpt2-nano/batches.safetensors"}) {
    std::FILE *pipe =
        popen((ZEROGRAPH_RUN " " + command + " 2>&1").c_str(), "r");
    std::string said(1 << 16, '\0');
    said.resize(std::fread(said.data(), 1, said.size(), pipe));
    EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 1) << said;
    EXPECT_EQ(said.find("zerograph-run "), 0u) << said;
    expectSays(said, why);
  }
}

} // namespace
} // namespace zerograph::testing
