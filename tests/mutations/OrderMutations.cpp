//===- OrderMutations.cpp - waits, streams, the order of collectives ------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "tests/mutations/Mutation.h"

#include "absl/strings/str_cat.h"

namespace zerograph::testing {
namespace {

using Change = std::optional<std::string>;

struct Wait {
  At of;
  int index;
};

std::vector<Wait> waits(const plan::Plan &plan, Random &random) {
  std::vector<Wait> found;
  for (At where : steps(plan, random, [](auto &) { return true; })) {
    for (int i = 0; i < at(plan, where).waits_size(); ++i) {
      found.push_back({where, i});
    }
  }
  return found;
}

void erase(plan::Step &step, int wait) {
  step.mutable_waits()->erase(step.mutable_waits()->begin() + wait);
}

/// The first change by `change(plan, wait)` that leaves something unordered.
template <typename Try>
Change looseWait(plan::Plan &plan, Random &random, const char *what,
                 const Try &change) {
  for (const Wait &wait : waits(plan, random)) {
    plan::Plan changed = plan;
    if (change(changed, wait) && loosened(plan, changed, wait.of.program)) {
      std::string text = absl::StrCat("wait ", wait.index, " of ",
                                      nameOf(plan, wait.of), " ", what);
      plan = std::move(changed);
      return text;
    }
  }
  return std::nullopt;
}

Change dropWait(plan::Plan &plan, Random &random) {
  return looseWait(plan, random, "dropped",
                   [](plan::Plan &changed, const Wait &wait) {
                     erase(at(changed, wait.of), wait.index);
                     return true;
                   });
}

/// To the next step of the same stream: the one that needs it begins early.
Change delayWait(plan::Plan &plan, Random &random) {
  return looseWait(
      plan, random, "moved to the next step of its stream",
      [](plan::Plan &changed, const Wait &wait) {
        plan::Step &from = at(changed, wait.of);
        plan::Program &program = *changed.mutable_programs(wait.of.program);
        for (int s = wait.of.step + 1; s < program.steps_size(); ++s) {
          if (program.steps(s).stream() == from.stream()) {
            program.mutable_steps(s)->add_waits(from.waits(wait.index));
            erase(from, wait.index);
            return true;
          }
        }
        return false;
      });
}

/// For the step before the one that has to be over.
Change earlierEvent(plan::Plan &plan, Random &random) {
  return looseWait(
      plan, random, "made for an earlier step of the same stream",
      [](plan::Plan &changed, const Wait &wait) {
        plan::Step &of = at(changed, wait.of);
        const plan::Program &program = changed.programs(wait.of.program);
        int awaited = int(of.waits(wait.index));
        for (int s = awaited - 1; s >= 0; --s) {
          if (program.steps(s).stream() == program.steps(awaited).stream()) {
            of.set_waits(wait.index, s);
            return true;
          }
        }
        return false;
      });
}

/// For a step of another stream.
Change otherEvent(plan::Plan &plan, Random &random) {
  return looseWait(plan, random, "made for a step of another stream",
                   [](plan::Plan &changed, const Wait &wait) {
                     plan::Step &of = at(changed, wait.of);
                     const plan::Program &program =
                         changed.programs(wait.of.program);
                     uint32_t stream =
                         program.steps(of.waits(wait.index)).stream();
                     for (int s = wait.of.step - 1; s >= 0; --s) {
                       if (program.steps(s).stream() != stream &&
                           program.steps(s).stream() != of.stream()) {
                         of.set_waits(wait.index, s);
                         return true;
                       }
                     }
                     return false;
                   });
}

Change laterEvent(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](auto &) { return true; })) {
    uint64_t later =
        plan.programs(where.program).steps_size() - uint64_t(where.step);
    uint32_t wait = uint32_t(where.step + random.below(later));
    at(plan, where).add_waits(wait);
    return absl::StrCat(nameOf(plan, where), " waits for step ", wait);
  }
  return std::nullopt;
}

/// A compute step on a stream of collectives, or the other way round.
Change wrongStream(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](const plan::Step &step) {
         return !step.has_copy() && !step.has_fill();
       })) {
    plan::Step &step = at(plan, where);
    for (int i = 0; i < plan.streams_size(); ++i) {
      if (isCollective(step) != (plan.streams(i).kind() == plan::COLLECTIVE)) {
        step.set_stream(i);
        return absl::StrCat(nameOf(plan, where), " put on ",
                            plan.streams(i).name());
      }
    }
  }
  return std::nullopt;
}

Change streamKind(plan::Plan &plan, Random &random) {
  plan::Stream &stream =
      *plan.mutable_streams(int(random.below(plan.streams_size())));
  if (stream.kind() == plan::FILE_READ) {
    return std::nullopt;
  }
  stream.set_kind(plan::FILE_READ);
  return absl::StrCat("stream ", stream.name(), " reads files");
}

/// A stream that may do it, where nothing orders it as before.
Change looseStream(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](auto &) { return true; })) {
    for (int i = 0; i < plan.streams_size(); ++i) {
      plan::Plan changed = plan;
      plan::Step &step = at(changed, where);
      bool can =
          step.has_fill() || step.has_copy() ||
          isCollective(step) == (plan.streams(i).kind() == plan::COLLECTIVE);
      if (step.stream() == uint32_t(i) || !can) {
        continue;
      }
      step.set_stream(i);
      if (loosened(plan, changed, where.program)) {
        plan = std::move(changed);
        return absl::StrCat(nameOf(plan, where), " put on ",
                            plan.streams(i).name());
      }
    }
  }
  return std::nullopt;
}

/// On a second stream that computes, which nothing waits for.
Change newStream(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](const plan::Step &step) {
         return !isCollective(step);
       })) {
    plan::Plan changed = plan;
    plan::Stream &stream = *changed.add_streams();
    stream.set_name("aside");
    stream.set_kind(plan::COMPUTE);
    at(changed, where).set_stream(changed.streams_size() - 1);
    if (loosened(plan, changed, where.program)) {
      plan = std::move(changed);
      return absl::StrCat(nameOf(plan, where), " put on a stream of its own");
    }
  }
  return std::nullopt;
}

std::vector<std::pair<At, At>> collectivePairs(const plan::Plan &plan,
                                               Random &random) {
  std::vector<At> all = steps(plan, random, isCollective);
  std::vector<std::pair<At, At>> pairs;
  for (At a : all) {
    for (At b : all) {
      if (a.program == b.program && a.step < b.step) {
        pairs.emplace_back(a, b);
      }
    }
  }
  return random.shuffled(std::move(pairs));
}

Change swapSequence(plan::Plan &plan, Random &random) {
  auto pairs = collectivePairs(plan, random);
  if (pairs.empty()) {
    return std::nullopt;
  }
  auto [a, b] = pairs[0];
  uint32_t sequence = at(plan, a).sequence();
  at(plan, a).set_sequence(at(plan, b).sequence());
  at(plan, b).set_sequence(sequence);
  return absl::StrCat("sequence numbers of ", nameOf(plan, a), " and ",
                      nameOf(plan, b), " swapped");
}

Change changeSequence(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, isCollective)) {
    plan::Step &step = at(plan, where);
    step.set_sequence(step.sequence() + 1 + uint32_t(random.below(3)));
    return absl::StrCat("another sequence number for ", nameOf(plan, where));
  }
  return std::nullopt;
}

Change sequenceOfNone(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](const plan::Step &step) {
         return !isCollective(step);
       })) {
    at(plan, where).set_sequence(1 + uint32_t(random.below(9)));
    return absl::StrCat("a sequence number for ", nameOf(plan, where));
  }
  return std::nullopt;
}

/// Makes each of two collectives of a kind do what the other does.
Change swapCollectives(plan::Plan &plan, Random &random) {
  for (auto [a, b] : collectivePairs(plan, random)) {
    plan::Step &x = at(plan, a), &y = at(plan, b);
    if (x.op_case() != y.op_case() || x.has_all_reduce()) {
      continue; // sums of scalars are in any order
    }
    std::string text = absl::StrCat("what ", nameOf(plan, a), " and ",
                                    nameOf(plan, b), " do swapped");
    x.Swap(&y);
    // Stream, waits and place in the order stay where they were.
    plan::Step old = x;
    x.set_stream(y.stream());
    *x.mutable_waits() = y.waits();
    y.set_stream(old.stream());
    *y.mutable_waits() = old.waits();
    restate(plan);
    return text;
  }
  return std::nullopt;
}

} // namespace

std::vector<Mutation> orderMutations() {
  const std::vector<const char *> kAwaiting = {
      "launch", "matmul", "convolution", "all_gather", "reduce_scatter"};
  const std::vector<absl::string_view> race = {kMissingWait, kRace};
  return {
      {"waits", "dropped", dropWait, race, kAwaiting},
      {"waits", "moved later", delayWait, race, kAwaiting},
      {"waits", "for an earlier step", earlierEvent, race, kAwaiting},
      {"waits",
       "for another stream",
       otherEvent,
       race,
       {"all_gather", "reduce_scatter"}},
      {"waits", "for a later step", laterEvent, {kInvalidStep}, kEveryKind},
      {"streams",
       "one that cannot do it",
       wrongStream,
       {kWrongStream, kInvalidStep},
       {"launch", "matmul", "convolution", "all_gather", "reduce_scatter",
        "all_reduce", "copy_in"}},
      {"streams", "its kind", streamKind, {kWrongStream}},
      {"streams",
       "one that is not ordered",
       looseStream,
       race,
       {"copy", "fill"}},
      {"streams",
       "one of its own",
       newStream,
       {kMissingWait, kRace, kInvalidStep},
       {"launch", "matmul", "convolution", "copy", "fill", "copy_in"}},
      {"collectives",
       "sequence numbers swapped",
       swapSequence,
       {kOrderOfCollectives}},
      {"collectives",
       "sequence number changed",
       changeSequence,
       {kOrderOfCollectives},
       {"all_gather", "reduce_scatter", "all_reduce"}},
      {"collectives",
       "sequence number of a step that is none",
       sequenceOfNone,
       {kInvalidStep}},
      {"collectives",
       "swapped",
       swapCollectives,
       {kReadBeforeItIsWritten, kMissingWait, kRace, kSharedBytes,
        kMissingGather}},
  };
}

} // namespace zerograph::testing
