//===- OrderMutations.cpp - waits, streams, the order of collectives ------===//

#include "runtime/plan/Describe.h"
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
                     plan::Stream stream =
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

Change ownStream(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](auto &) { return true; })) {
    for (int s = where.step - 1; s >= 0; --s) {
      if (plan.programs(where.program).steps(s).stream() ==
          at(plan, where).stream()) {
        at(plan, where).add_waits(s);
        return absl::StrCat(nameOf(plan, where), " waits for step ", s,
                            " of its own stream");
      }
    }
  }
  return std::nullopt;
}

Change laterEvent(plan::Plan &plan, Random &random) {
  At where = steps(plan, random, [](auto &) { return true; })[0];
  uint64_t later =
      plan.programs(where.program).steps_size() - uint64_t(where.step);
  uint32_t wait = uint32_t(where.step + random.below(later));
  at(plan, where).add_waits(wait);
  return absl::StrCat(nameOf(plan, where), " waits for step ", wait);
}

Change wrongStream(plan::Plan &plan, Random &random) {
  At where = steps(plan, random, [](auto &) { return true; })[0];
  plan::Step &step = at(plan, where);
  plan::Stream stream = isCollective(step) ? plan::COMPUTE
                        : step.has_fill()  ? plan::NVME_READ
                                           : plan::GATHER;
  step.set_stream(stream);
  return absl::StrCat(nameOf(plan, where), " put on ",
                      zerograph::nameOf(stream));
}

/// A stream that may do it, where nothing orders it as before.
Change looseStream(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](const plan::Step &step) {
         return isCollective(step) || step.has_fill() || step.has_copy();
       })) {
    for (plan::Stream stream : {plan::SCATTER, plan::GATHER, plan::COMPUTE}) {
      plan::Plan changed = plan;
      plan::Step &step = at(changed, where);
      if (step.stream() == stream ||
          (isCollective(step) && stream == plan::COMPUTE)) {
        continue;
      }
      step.set_stream(stream);
      if (loosened(plan, changed, where.program)) {
        plan = std::move(changed);
        return absl::StrCat(nameOf(plan, where), " put on ",
                            zerograph::nameOf(stream));
      }
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
  std::vector<At> all = steps(plan, random, isCollective);
  if (all.empty()) {
    return std::nullopt; // one rank
  }
  plan::Step &step = at(plan, all[0]);
  step.set_sequence(step.sequence() + 1 + uint32_t(random.below(3)));
  return absl::StrCat("another sequence number for ", nameOf(plan, all[0]));
}

Change sequenceOfNone(plan::Plan &plan, Random &random) {
  At where = steps(plan, random, [](const plan::Step &step) {
    return !isCollective(step);
  })[0];
  at(plan, where).set_sequence(1 + uint32_t(random.below(9)));
  return absl::StrCat("a sequence number for ", nameOf(plan, where));
}

/// What two collectives of a kind do, one in the other's place.
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
  const std::vector<std::string> race = {
      "missing wait: ", "race: ", "shared bytes: "};
  const std::vector<std::string> sequence = {"order of collectives: "};
  return {
      {"waits", "dropped", dropWait, race},
      {"waits", "moved later", delayWait, race},
      {"waits", "for an earlier step", earlierEvent, race},
      {"waits", "for another stream", otherEvent, race},
      {"waits", "for its own stream", ownStream, {"useless wait: "}},
      {"waits", "for a later step", laterEvent, {"it would wait for ever"}},
      {"streams", "one that cannot do it", wrongStream, {"wrong stream: "}},
      {"streams", "one that is not ordered", looseStream, race},
      {"collectives", "sequence numbers swapped", swapSequence, sequence},
      {"collectives", "sequence number changed", changeSequence, sequence},
      {"collectives",
       "sequence number of a step that is none",
       sequenceOfNone,
       {"has a place in the order of collectives"}},
      {"collectives",
       "swapped",
       swapCollectives,
       {"read before it is written: ", "missing wait: ", "race: ",
        "shared bytes: ", "outside its lifetime: ", "late gradients: ",
        "gradients not reduced: ", "missing gather: "}},
  };
}

} // namespace zerograph::testing
