//===- Updates.cpp - each state is updated once, from its own gradients ---===//

#include "runtime/plan/verify/Updates.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/steps/Step.h"

namespace zerograph::verify {

Updates::Updates(const VerifierContext &context, Problems &problems)
    : plan(context.plan), mesh(context.mesh), parts(context.parts),
      problems(problems), written(plan.slices_size()), used(plan.units_size()) {
  for (const StagedInput &arrival : context.arrivals) {
    scalars.push_back(arrival.scalar);
  }
}

bool Updates::mayWrite(StepPlace at, const plan::Access &access,
                       const UnitPart &part) {
  const plan::Unit &unit = plan.units(part.unit);
  plan::ProgramKind kind = plan.programs(at.program).kind();
  auto refuse = [&](absl::string_view id, const char *why) {
    problems.add(id, describeStep(plan, at.program, at.step), " writes ",
                 describeSlice(plan, access.slice()), " of unit ", unit.name(),
                 why);
    return false;
  };
  if (kind == plan::EVALUATE) {
    return refuse(finding::kEvaluationThatTrains,
                  "; expected all states to stay as they are");
  }
  if (unit.local()) {
    return kind != plan::UPDATE ||
           refuse(finding::kLateUpdate, ", which micro-batches alone change");
  }
  if (!unit.trainable()) {
    return refuse(finding::kFrozenState, ", which is not trained");
  }
  return kind != plan::MICRO ||
         refuse(finding::kEarlyUpdate, " before all micro-batches are done");
}

void Updates::write(StepPlace at, const plan::Access &access) {
  Written &state = written[access.slice()];
  mesh.visitRanks(
      access.offset(), access.bytes(), mesh.strides(access),
      [&](uint64_t begin, uint64_t end) {
        state.visit(begin, end, [&](uint64_t byte, uint64_t, StepPlace before) {
          problems.add(finding::kDoubledUpdate,
                       describeStep(plan, before.program, before.step), " and ",
                       describeStep(plan, at.program, at.step), " both write ",
                       describeSlice(plan, access.slice()), " at byte ", byte,
                       "; expected one write a step");
        });
        state.assign(begin, end, at);
      });
}

/// Checks that, of states and gradients, the step reads and writes the same
/// elements.
void Updates::compute(StepPlace at, const plan::Step &step,
                      const UnitPart &made) {
  for (int i = 0; i < step.accesses_size(); ++i) {
    const plan::Access &access = step.accesses(i);
    std::optional<UnitPart> part = parts.of(access);
    if (!part) {
      continue;
    }
    plan::SliceClass of = plan.slices(int(access.slice())).slice_class();
    if (!part->sameElements(made) || !fits(part->role, of)) {
      problems.add(finding::kWrongUnit, describeStep(plan, at.program, at.step),
                   " updates ", describe(plan, made), " and ",
                   effectOf(step, i).reads ? "reads " : "writes ",
                   describeSlice(plan, access.slice()), ", ", nameOf(of),
                   " that holds ", describe(plan, *part),
                   "; expected the same elements");
    } else if (roleOf(part->role) == Role::Gradient &&
               effectOf(step, i).reads) {
      useFor(step, *part);
    }
  }
  checkGroup(at, step, plan.units(made.unit));
}

void Updates::checkGroup(StepPlace at, const plan::Step &step,
                         const plan::Unit &unit) {
  uint32_t group = unit.parameters().empty() ? 0 : unit.parameters(0).group();
  for (const plan::Access &access : step.accesses()) {
    const plan::Scalar *scalar = scalars[access.slice()];
    if (scalar && formulaScalar(scalar->kind()) != options::Scalar::none &&
        scalar->group() != group) {
      problems.add(finding::kWrongGroup,
                   describeStep(plan, at.program, at.step), " updates ",
                   unit.name(), ", of group ", group, ", and reads ",
                   nameOf(scalar->kind()), " of group ", scalar->group());
    }
  }
}

void Updates::copy(const plan::Access &from, const plan::Access &to) {
  if (scalars[from.slice()] != nullptr) {
    scalars[to.slice()] = scalars[from.slice()];
  }
  if (plan.slices(int(to.slice())).carried()) {
    for (const UnitPart &part : pending[from.slice()]) {
      use(part);
    }
  }
}

/// Records that the step makes of these gradients all that it writes.
void Updates::useFor(const plan::Step &step, const UnitPart &gradients) {
  for (int i = 0; i < step.accesses_size(); ++i) {
    uint32_t slice = step.accesses(i).slice();
    if (!effectOf(step, i).writes) {
      continue;
    }
    if (plan.slices(int(slice)).carried()) {
      use(gradients);
    } else {
      pending[slice].push_back(gradients);
    }
  }
}

void Updates::use(const UnitPart &gradients) {
  mesh.visitRanks(gradients.begin, gradients.elements, gradients.strides,
                  [&](uint64_t begin, uint64_t end) {
                    used[gradients.unit].assign(begin, end, true);
                  });
}

void Updates::finish() {
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    const plan::Unit &of = plan.units(unit);
    if (of.local()) {
      checkLocal(unit);
    }
    bool all = of.trainable();
    for (const plan::State &state : of.states()) {
      all = all && (roleOf(state) == Role::Gradient || checkWhole(unit, state));
    }
    auto gap = used[unit].firstGap(0, of.elements());
    if (all && gap) {
      problems.add(finding::kUnusedGradients, "unit ", unit, " (", of.name(),
                   ") is updated and no step that does so reads its "
                   "gradients [",
                   gap->first, ", ", gap->second, ")");
    }
  }
}

bool Updates::checkWhole(int unit, const plan::State &state) {
  uint64_t bytes = plan.slices(int(state.slice())).bytes();
  auto gap = written[state.slice()].firstGap(0, bytes);
  if (gap) {
    problems.add(finding::kMissingUpdate, "no step writes bytes [", gap->first,
                 ", ", gap->second, ") of state \"", state.role(),
                 "\" of trainable unit ", unit, " (", plan.units(unit).name(),
                 "), ", describeSlice(plan, state.slice()));
  }
  return !gap;
}

/// Checks that all parameters of a unit that is each rank's own are made anew.
/// Nothing reads the elements between them.
void Updates::checkLocal(int index) {
  const plan::Unit &unit = plan.units(index);
  uint32_t slice = unit.states(0).slice();
  uint64_t bytes = elementSize(unit.states(0).type());
  for (const plan::Parameter &parameter : unit.parameters()) {
    uint64_t begin = parameter.offset() * bytes;
    auto gap =
        written[slice].firstGap(begin, begin + parameter.elements() * bytes);
    if (gap) {
      problems.add(finding::kMissingUpdate, "no step writes bytes [",
                   gap->first, ", ", gap->second, ") of ",
                   describeSlice(plan, slice), ", where ", parameter.name(),
                   " of unit ", index, " (", unit.name(),
                   ") lies; expected each micro-batch to");
    }
  }
}

} // namespace zerograph::verify
