//===- PlanTest.cpp - what a plan states is what a run does ---------------===//

#include "runtime/plan/Memory.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Verify.h"
#include "tests/e2e/Harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <functional>
#include <map>
#include <set>

namespace zerograph::testing {
namespace {

Training nano(int64_t ranks, int64_t stage) {
  Training training{"gpt2-nano", "model_keep_names.onnx", "adamw", ranks,
                    stage};
  training.steps = 2;
  return training;
}

// The harness expects the whole account of each run it makes; this model's
// highest slice is no working space, so that here the byte is the same too.
TEST(Plan, MemoryIsExact) {
  for (int64_t ranks : {1, 2, 4}) {
    for (int64_t stage = 0; stage < 4; ++stage) {
      for (int64_t accumulate : {1, 2}) {
        Training training = nano(ranks, stage);
        training.accumulate = accumulate;
        Outcome outcome = trainModel(training);
        for (const RankResult &rank : outcome.result.ranks) {
          EXPECT_EQ(rank.touched[0], peakOf(outcome.plan, 0))
              << training.describe();
        }
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
    static const plan::Plan plan = compilePlan(nano(2, 3));
    return plan;
  }
  /// Two micro-batches: programs "micro" and "update".
  static const plan::Plan &accumulating() {
    static const plan::Plan plan = [] {
      Training training = nano(2, 3);
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
  /// Launches that write parameters.
  bool updates(const plan::Step &step) const {
    return step.has_launch() &&
           std::any_of(step.accesses().begin(), step.accesses().end(),
                       [&](const plan::Access &access) {
                         return access.mode() != plan::READ &&
                                plan.slices(access.slice()).slice_class() ==
                                    plan::PARAM_SHARD;
                       });
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
  plan.mutable_scalars(0)->set_name("bogus");
  expectRefused(plan, "an unknown scalar", "\"bogus\"");
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
    auto update = [&](const plan::Step &step) { return updates(step); };
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
      if (updates(step)) {
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
