//===- StepMutations.cpp - steps that lack, are doubled or misplaced ------===//
//
// The plans are stated anew: as a compiler that left the step out would write
// them.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "tests/mutations/Mutation.h"
#include "tests/runtime/plan/PlanBuilder.h"

#include "absl/strings/str_cat.h"

namespace zerograph::testing {
namespace {

using Change = std::optional<std::string>;

/// The access that a later step reads and, of its buffer, one step alone
/// writes.
struct Result {
  At by, reader;
};

std::vector<Result> results(const plan::Plan &plan, Random &random,
                            const StepTest &writer) {
  std::vector<Result> found;
  for (At from : steps(plan, random, writer)) {
    const plan::Program &program = plan.programs(from.program);
    const plan::Step &step = at(plan, from);
    for (int i = 0; i < step.accesses_size(); ++i) {
      uint32_t slice = step.accesses(i).slice();
      if (!writes(step, i) || reads(step, i) ||
          plan.slices(int(slice)).carried()) {
        continue;
      }
      int writers = 0, reader = -1;
      for (int s = 0; s < program.steps_size(); ++s) {
        for (int j = 0; j < program.steps(s).accesses_size(); ++j) {
          if (program.steps(s).accesses(j).slice() == slice) {
            writers += writes(program.steps(s), j);
            reader = reads(program.steps(s), j) && reader < 0 ? s : reader;
          }
        }
      }
      if (writers == 1 && reader > from.step) {
        found.push_back({from, {from.program, reader}});
        break;
      }
    }
  }
  return found;
}

std::vector<At> needed(const plan::Plan &plan, Random &random,
                       const StepTest &writer) {
  std::vector<At> found;
  for (const Result &result : results(plan, random, writer)) {
    found.push_back(result.by);
  }
  return found;
}

/// Writes sums of gradients that are carried, and is no reduction.
bool writesSums(const plan::Plan &plan, const plan::Step &step) {
  for (int i = 0; i < step.accesses_size(); ++i) {
    const plan::Slice &slice = plan.slices(int(step.accesses(i).slice()));
    if (!isCollective(step) && writes(step, i) && slice.carried() &&
        slice.slice_class() == plan::GRAD_SHARD) {
      return true;
    }
  }
  return false;
}

/// Steps that bring sums back which a micro-batch has added to, or those that
/// zero them, once all are done.
std::vector<At> writersOfSums(const plan::Plan &plan, Random &random,
                              bool zeroing) {
  std::vector<At> all = steps(plan, random, [&](const plan::Step &step) {
    return writesSums(plan, step) && (zeroing || step.has_copy());
  });
  std::erase_if(all, [&](const At &one) {
    bool micro = plan.programs(one.program).kind() == plan::MICRO;
    return micro == zeroing;
  });
  return all;
}

Change drop(plan::Plan &plan, std::vector<At> found) {
  if (found.empty()) {
    return std::nullopt;
  }
  std::string text = absl::StrCat(nameOf(plan, found[0]), " dropped");
  std::vector<int> order = inOrder(plan, found[0].program);
  order.erase(order.begin() + found[0].step);
  reorder(plan, found[0].program, order);
  restate(plan);
  return text;
}

Change twice(plan::Plan &plan, std::vector<At> found) {
  if (found.empty()) {
    return std::nullopt;
  }
  std::string text = absl::StrCat(nameOf(plan, found[0]), " done twice");
  std::vector<int> order = inOrder(plan, found[0].program);
  order.insert(order.begin() + found[0].step, found[0].step);
  reorder(plan, found[0].program, order);
  restate(plan);
  return text;
}

Change dropCompute(plan::Plan &plan, Random &random) {
  return drop(plan, needed(plan, random, [](const plan::Step &step) {
                return step.has_launch() ||
                       (step.has_matmul() || step.has_convolution());
              }));
}
Change dropUpdate(plan::Plan &plan, Random &random) {
  return drop(plan, steps(plan, random, [&](const plan::Step &step) {
                return updates(plan, step);
              }));
}
Change dropZeroing(plan::Plan &plan, Random &random) {
  return drop(plan, writersOfSums(plan, random, /*zeroing=*/true));
}
Change dropReturn(plan::Plan &plan, Random &random) {
  return drop(plan, writersOfSums(plan, random, /*zeroing=*/false));
}
/// The second half of its bytes stay where they were.
Change halveReturn(plan::Plan &plan, Random &random) {
  for (At where : writersOfSums(plan, random, /*zeroing=*/false)) {
    plan::Step &step = at(plan, where);
    uint64_t half = step.accesses(0).bytes() / 2;
    std::string text = absl::StrCat(nameOf(plan, where), " copies half");
    step.mutable_accesses(0)->set_bytes(half);
    step.mutable_accesses(1)->set_bytes(half);
    restate(plan);
    return text;
  }
  return std::nullopt;
}
Change dropGather(plan::Plan &plan, Random &random) {
  if (worldOf(plan) == 1) {
    return std::nullopt; // one rank has everything
  }
  return drop(plan, steps(plan, random, [](const plan::Step &step) {
                return step.has_all_gather();
              }));
}
Change dropReduction(plan::Plan &plan, Random &random) {
  if (worldOf(plan) == 1) {
    return std::nullopt; // one rank has everything
  }
  return drop(plan, steps(plan, random, [](const plan::Step &step) {
                return step.has_reduce_scatter();
              }));
}
Change dropCopyIn(plan::Plan &plan, Random &random) {
  return drop(plan, steps(plan, random, [](const plan::Step &step) {
                return step.has_copy_in();
              }));
}
Change dropSum(plan::Plan &plan, Random &random) {
  return drop(plan, steps(plan, random, [](const plan::Step &step) {
                return step.has_all_reduce();
              }));
}

Change updateTwice(plan::Plan &plan, Random &random) {
  return twice(plan, steps(plan, random, [&](const plan::Step &step) {
                 return updates(plan, step);
               }));
}
Change zeroTwice(plan::Plan &plan, Random &random) {
  return twice(plan, writersOfSums(plan, random, /*zeroing=*/true));
}
Change reduceTwice(plan::Plan &plan, Random &random) {
  return twice(plan, steps(plan, random, [](const plan::Step &step) {
                 return step.has_reduce_scatter();
               }));
}
Change copyInTwice(plan::Plan &plan, Random &random) {
  return twice(plan, steps(plan, random, [](const plan::Step &step) {
                 return step.has_copy_in();
               }));
}
Change sumTwice(plan::Plan &plan, Random &random) {
  return twice(plan, steps(plan, random, [](const plan::Step &step) {
                 return step.has_all_reduce();
               }));
}

/// The steps that read what each step writes, nothing having written it in
/// between.
std::vector<std::pair<At, At>>
dependences(const plan::Plan &plan, Random &random, const StepTest &writer) {
  std::vector<std::pair<At, At>> found;
  for (At from : steps(plan, random, writer)) {
    const plan::Step &a = at(plan, from);
    int count = plan.programs(from.program).steps_size();
    bool met = false;
    for (int s = from.step + 1; s < count && !met; ++s) {
      const plan::Step &b = plan.programs(from.program).steps(s);
      for (int i = 0; i < a.accesses_size() && !met; ++i) {
        for (int j = 0; writes(a, i) && j < b.accesses_size() && !met; ++j) {
          if (touch(plan, a.accesses(i), b.accesses(j))) {
            met = true;
            if (reads(b, j)) {
              found.emplace_back(from, At{from.program, s});
            }
          }
        }
      }
    }
  }
  return found;
}

/// `late` right before `early`.
void hoist(plan::Plan &plan, At early, At late) {
  std::vector<int> order = inOrder(plan, early.program);
  order.erase(order.begin() + late.step);
  order.insert(order.begin() + early.step, late.step);
  reorder(plan, early.program, order);
  restate(plan);
}

Change readFirst(plan::Plan &plan, Random &random) {
  auto all = results(plan, random, [](auto &) { return true; });
  if (all.empty()) {
    return std::nullopt;
  }
  auto [a, b] = all[0];
  std::string text = absl::StrCat(nameOf(plan, b), " put before ",
                                  nameOf(plan, a), ", whose results it reads");
  hoist(plan, a, b);
  return text;
}

/// Parameters gathered before their update, gradients before they are reduced.
Change gatherStale(plan::Plan &plan, Random &random) {
  for (auto [a, b] : dependences(plan, random, [&](const plan::Step &step) {
         for (const plan::Access &access : step.accesses()) {
           plan::SliceClass of = plan.slices(access.slice()).slice_class();
           if (access.mode() != plan::READ &&
               (of == plan::PARAM_SHARD || of == plan::GRAD)) {
             return true;
           }
         }
         return false;
       })) {
    if (at(plan, b).has_all_gather()) {
      std::string text =
          absl::StrCat(nameOf(plan, b), " put before ", nameOf(plan, a));
      hoist(plan, a, b);
      return text;
    }
  }
  return std::nullopt;
}

/// A reduction before the last gradients are there.
Change reduceEarly(plan::Plan &plan, Random &random) {
  for (auto [a, b] : dependences(plan, random, [](const plan::Step &step) {
         return step.has_launch() ||
                (step.has_matmul() || step.has_convolution()) ||
                step.has_fill();
       })) {
    if (at(plan, b).has_reduce_scatter()) {
      std::string text =
          absl::StrCat(nameOf(plan, b), " put before ", nameOf(plan, a));
      hoist(plan, a, b);
      return text;
    }
  }
  return std::nullopt;
}

/// Parameters are zeroed when they have been gathered.
Change overGathered(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](const plan::Step &step) {
         return step.has_all_gather();
       })) {
    plan::Access whole = at(plan, where).accesses(1);
    if (plan.slices(int(whole.slice())).slice_class() != plan::GATHERED) {
      continue;
    }
    std::string text =
        absl::StrCat("what ", nameOf(plan, where), " gathered is zeroed");
    plan::Step fill;
    fill.set_name("over what is gathered");
    fill.set_stream(at(plan, where).stream());
    fill.mutable_fill();
    *fill.add_accesses() = whole;
    *plan.mutable_programs(where.program)->add_steps() = fill;
    restate(plan);
    return text;
  }
  return std::nullopt;
}

/// Returns whether a step is "micro" and "update".
bool isSplit(const plan::Plan &plan) {
  return plan.programs(0).kind() == plan::MICRO;
}

Change otherPrograms(plan::Plan &plan, Random &random) {
  if (!isSplit(plan)) {
    const plan::ProgramKind kinds[] = {plan::MICRO, plan::UPDATE, plan::FORWARD,
                                       plan::PROGRAM_INVALID};
    plan.mutable_programs(0)->set_kind(kinds[random.below(4)]);
    return absl::StrCat("the program is of kind ", plan.programs(0).kind());
  }
  if (random.below(2) == 0) {
    plan.mutable_programs()->SwapElements(0, 1);
    return "\"update\" before \"micro\"";
  }
  plan.mutable_programs()->DeleteSubrange(1, 1);
  return "no \"update\"";
}

/// A step of "update" at the end of "micro".
Change updateEarly(plan::Plan &plan, Random &random) {
  if (!isSplit(plan)) {
    return std::nullopt;
  }
  std::vector<At> all = steps(plan, random, [&](const plan::Step &step) {
    return step.has_launch() && updates(plan, step);
  });
  if (all.empty()) {
    return std::nullopt; // made where they are not kept
  }
  std::string text = absl::StrCat(nameOf(plan, all[0]), " moved to \"micro\"");
  plan::Step moved = at(plan, all[0]);
  moved.clear_waits();
  for (int s = 0; s < plan.programs(0).steps_size(); ++s) {
    if (plan.programs(0).steps(s).stream() != moved.stream()) {
      moved.add_waits(s);
    }
  }
  std::vector<int> order = inOrder(plan, 1);
  order.erase(order.begin() + all[0].step);
  reorder(plan, 1, order);
  *plan.mutable_programs(0)->add_steps() = moved;
  restate(plan);
  return text;
}

} // namespace

std::vector<Mutation> stepMutations() {
  return {
      {"dropped",
       "launch or library call",
       dropCompute,
       {kReadBeforeItIsWritten},
       {"launch", "matmul", "convolution"}},
      {"dropped", "update", dropUpdate, {kMissingUpdate}},
      {"dropped", "zeroing", dropZeroing, {kGradientsNotZeroed}},
      {"dropped", "sum that goes back", dropReturn, {kLostGradients}},
      {"dropped",
       "half of a sum that goes back",
       halveReturn,
       {kLostGradients}},
      {"dropped",
       "gather",
       dropGather,
       {kMissingGather, kReadBeforeItIsWritten, kGradientsNotReduced}},
      {"dropped", "reduction", dropReduction, {kMissingReduction}},
      {"dropped", "sum of loss or stop", dropSum, {kNoAgreement}},
      {"dropped", "copy_in", dropCopyIn, {kReadBeforeItIsWritten}},
      {"doubled", "update", updateTwice, {kDoubledUpdate}},
      {"doubled", "zeroing", zeroTwice, {kDoubledZeroing}},
      {"doubled", "reduction", reduceTwice, {kDoubledReduction}},
      {"doubled", "sum of loss or stop", sumTwice, {kNoAgreement}},
      {"doubled", "copy_in", copyInTwice, {kCopiedInTwice}},
      {"misplaced",
       "before what it reads",
       readFirst,
       {kReadBeforeItIsWritten},
       {"launch", "matmul", "convolution", "all_gather", "copy_in"}},
      {"misplaced",
       "gather of stale data",
       gatherStale,
       {kMissingGather, kGradientsNotReduced, kMissingWait, kRace}},
      {"misplaced",
       "reduction before the last gradients",
       reduceEarly,
       {kLateGradients, kMissingWait, kRace}},
      {"misplaced",
       "write over what is gathered",
       overGathered,
       {kWrongGather}},
      {"misplaced",
       "programs",
       otherPrograms,
       {kInvalidProgram, kInvalidHeader}},
      {"misplaced", "update in a micro-batch", updateEarly, {kEarlyUpdate}},
  };
}

} // namespace zerograph::testing
