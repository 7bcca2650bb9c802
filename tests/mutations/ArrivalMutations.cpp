//===- ArrivalMutations.cpp - slots, and what is copied from them ---------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "tests/mutations/Mutation.h"

#include "absl/strings/str_cat.h"

namespace zerograph::testing {
namespace {

using Change = std::optional<std::string>;

At copyIn(const plan::Plan &plan, Random &random) {
  return steps(plan, random,
               [](const plan::Step &step) { return step.has_copy_in(); })[0];
}

/// One of what the step copies in, as an access.
int anyPart(const plan::Step &step, Random &random) {
  return 2 + int(random.below(step.copy_in().offsets_size()));
}

Change offset(plan::Plan &plan, Random &random) {
  At where = copyIn(plan, random);
  plan::CopyIn &op = *at(plan, where).mutable_copy_in();
  int i = int(random.below(op.offsets_size()));
  op.set_offsets(i, op.offsets(i) + (random.below(2) == 0 ? 4 : 1 << 20));
  return absl::StrCat("offset ", i, " of ", nameOf(plan, where), " is ",
                      op.offsets(i));
}

Change twice(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](const plan::Step &step) {
         return step.copy_in().offsets_size() > 1;
       })) {
    plan::Step &step = at(plan, where);
    int i = anyPart(step, random), j = i == 2 ? 3 : 2;
    *step.mutable_accesses(i) = step.accesses(j);
    restate(plan);
    return absl::StrCat("accesses ", i, " and ", j, " of ", nameOf(plan, where),
                        " are one");
  }
  return std::nullopt;
}

/// Gives a program what none gets, in place of what it does.
Change somethingElse(plan::Plan &plan, Random &random) {
  At where = copyIn(plan, random);
  plan::Access &access =
      *at(plan, where).mutable_accesses(anyPart(at(plan, where), random));
  access.set_slice(plan.stop().slice());
  access.set_bytes(4);
  restate(plan);
  return absl::StrCat(nameOf(plan, where), " writes the stop count");
}

Change otherProgramsSlots(plan::Plan &plan, Random &random) {
  if (plan.programs_size() == 1) {
    return std::nullopt;
  }
  At where = copyIn(plan, random);
  plan::Step &step = at(plan, where);
  int other = (where.program + 1) % plan.programs_size();
  for (int i = 0; i < 2; ++i) {
    uint32_t slot = plan.programs(other).slots(i);
    step.mutable_accesses(i)->set_slice(slot);
    step.mutable_accesses(i)->set_bytes(plan.slices(int(slot)).bytes());
  }
  return absl::StrCat(nameOf(plan, where), " reads the other program's slots");
}

Change oneSlot(plan::Plan &plan, Random &random) {
  At where = copyIn(plan, random);
  plan::Program &program = *plan.mutable_programs(where.program);
  if (random.below(2) == 0) {
    program.set_slots(1, program.slots(0));
  } else {
    program.mutable_slots()->RemoveLast();
  }
  return absl::StrCat(program.name(), " has one slot");
}

Change unequalSlots(plan::Plan &plan, Random &random) {
  At where = copyIn(plan, random);
  plan::Slice &slot = *plan.mutable_slices(
      int(plan.programs(where.program).slots(int(random.below(2)))));
  slot.set_bytes(slot.bytes() - 4);
  return absl::StrCat(slot.name(), " is smaller");
}

Change slotOfDevice(plan::Plan &plan, Random &random) {
  plan::Arena &arena = *plan.mutable_arenas(1);
  arena.set_space(random.below(2) == 0 ? plan::DEVICE : plan::HOST);
  return "slots that are not in pinned memory";
}

/// A step that writes a slot, or reads one that a run may not have been given.
Change touchedSlot(plan::Plan &plan, Random &random) {
  At where = copyIn(plan, random);
  plan::Program &program = *plan.mutable_programs(where.program);
  uint64_t slot = random.below(2);
  plan::Step step;
  step.set_name("on a slot");
  step.set_stream(at(plan, where).stream());
  plan::Access access = at(plan, where).accesses(int(slot));
  if (random.below(2) == 0) {
    step.mutable_fill();
    access.set_mode(plan::WRITE);
    *step.add_accesses() = access;
  } else {
    step.mutable_copy();
    plan::Access to = at(plan, where).accesses(2);
    access.set_bytes(to.bytes());
    *step.add_accesses() = access;
    *step.add_accesses() = to;
  }
  *program.add_steps() = step;
  restate(plan);
  return absl::StrCat("a step of ", program.name(), " on slot ", slot);
}

/// A scalar of this program is zeroed when it has arrived.
Change overwritten(plan::Plan &plan, Random &random) {
  At where = copyIn(plan, random);
  plan::Step step;
  step.set_name("over what arrived");
  step.set_stream(at(plan, where).stream());
  step.mutable_fill();
  *step.add_accesses() =
      at(plan, where).accesses(anyPart(at(plan, where), random));
  *plan.mutable_programs(where.program)->add_steps() = step;
  restate(plan);
  return absl::StrCat("a fill of what ", nameOf(plan, where), " writes");
}

Change carriedInput(plan::Plan &plan, Random &random) {
  At where = copyIn(plan, random);
  int slice =
      int(at(plan, where).accesses(anyPart(at(plan, where), random)).slice());
  plan.mutable_slices(slice)->set_carried(true);
  restate(plan);
  return absl::StrCat(describeSlice(plan, slice), " is carried");
}

} // namespace

std::vector<Mutation> arrivalMutations() {
  return {
      {"slots", "offset", offset, {kInvalidStep}},
      {"slots", "a place twice", twice, {kInvalidStep}},
      {"slots", "another place", somethingElse, {kInvalidStep}},
      {"slots",
       "of another program",
       otherProgramsSlots,
       {kWrongSlot, kInvalidStep}},
      {"slots", "one", oneSlot, {kAmbiguousSlice, kInvalidSlot}},
      {"slots", "of different size", unequalSlots, {kInvalidSlot}},
      {"slots", "of the device", slotOfDevice, {kInvalidSlot}},
      {"slots", "touched by a step", touchedSlot, {kWrongSlot}},
      {"slots", "overwritten", overwritten, {kOverwritten}},
      {"slots",
       "a carried input",
       carriedInput,
       {kInvalidInput, kInvalidScalar}},
  };
}

} // namespace zerograph::testing
