//===- GradientSums.cpp - each micro-batch is added once ------------------===//

#include "runtime/plan/verify/GradientSums.h"

#include "runtime/plan/Describe.h"

#include <algorithm>
#include <set>

namespace zerograph::verify {

/// Finds the sums. Gradients that are dumped are carried too, but are no sums
/// if a fused step writes them anew and no reduction adds to them.
GradientSums::GradientSums(const VerifierContext &context, Problems &problems)
    : plan(context.plan), mesh(context.mesh), parts(context.parts),
      problems(problems), sums(plan.slices_size()), kept(plan.units_size()),
      reduced(plan.units_size()) {
  for (const plan::Program &program : plan.programs()) {
    split |= program.kind() == plan::MICRO;
  }
  std::set<uint32_t> added;
  forEachStep(plan, [&](int, int, const plan::Step &step) {
    if (step.has_reduce_scatter() && step.reduce_scatter().accumulate()) {
      added.insert(step.accesses(1).slice());
    }
  });
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    for (const plan::State &state : plan.units(unit).states()) {
      if (roleOf(state) == Role::Gradient &&
          (split || added.count(state.slice()) != 0)) {
        UnitPart part =
            context.parts.segment(unit, state.segment(), state.role());
        sums[state.slice()] = {unit, elementSize(state.type()),
                               mesh.groupSize(state.axes()) == 1, part.begin};
        kept[unit].assign(part.begin, part.begin + part.elements, true);
      }
    }
  }
}

Value GradientSums::begin(const plan::Program &program, uint32_t slice) const {
  bool adds = program.kind() == plan::MICRO || program.kind() == plan::STEP;
  return {sums[slice].whole ? Sharing::Partial : Sharing::Sharded,
          adds ? Terms::Earlier : Terms::All};
}

std::string GradientSums::describe(uint32_t slice) const {
  int unit = sums[slice].unit;
  return absl::StrCat(describeSlice(plan, slice),
                      ", the sum of gradients of unit ", unit, " (",
                      plan.units(unit).name(), ")");
}

void GradientSums::read(StepPlace at, const plan::Access &access, bool zeroed) {
  bool adds = plan.programs(at.program).kind() == plan::MICRO;
  if (zeroed && !adds) {
    problems.add(finding::kLostGradients,
                 describeStep(plan, at.program, at.step), " reads ",
                 describe(access.slice()),
                 ", which has been zeroed before; expected to read first");
  }
}

void GradientSums::write(StepPlace at, const plan::Access &access,
                         const Value &value, bool added, bool zeroed) {
  const plan::Program &program = plan.programs(at.program);
  const plan::Step &step = program.steps(at.step);
  auto fault = [&](absl::string_view id, const auto &...expected) {
    problems.add(id, describeStep(plan, at.program, at.step), " writes ",
                 describe(access.slice()), expected...);
  };
  if (program.kind() != plan::MICRO) {
    if (value.terms != Terms::Zero && !step.has_reduce_scatter()) {
      fault(finding::kWrongGradients,
            "; expected only reductions to, and one step that zeroes it");
    } else if (value.terms == Terms::Zero && zeroed) {
      fault(finding::kDoubledZeroing,
            " with zeros a second time; expected it once "
            "a step");
    }
    return;
  }
  bool whole = sums[access.slice()].whole, reads_it = false;
  for (int i = 0; i < step.accesses_size(); ++i) {
    reads_it |=
        effectOf(step, i).reads && step.accesses(i).slice() == access.slice();
  }
  if (value.terms != Terms::All && value.terms != Terms::Earlier) {
    fault(finding::kLostGradients, " without what earlier micro-batches left "
                                   "there; expected a step that adds to it");
  } else if (whole && mesh.strides(access) != Strides{}) {
    fault(finding::kLostGradients,
          " in part; expected this rank's to be added to "
          "all of it");
  } else if (!whole && !step.has_reduce_scatter() && !step.has_copy()) {
    fault(finding::kWrongGradients, "; expected only reductions to");
  } else if (added && !reads_it) {
    fault(finding::kLostGradients,
          ", to which this micro-batch was added, from a "
          "copy of it");
  }
}

Terms GradientSums::termsOf(StepPlace at, int index, const UnitPart &made,
                            const ValueMap &values) {
  const plan::Step &step = plan.programs(at.program).steps(at.step);
  bool keeps = isSum(step.accesses(index).slice());
  std::optional<Terms> sum;
  std::optional<UnitPart> others; // gradients of other elements
  bool adds = false;
  for (int i = 0; i < step.accesses_size(); ++i) {
    const plan::Access &access = step.accesses(i);
    if (!effectOf(step, i).reads) {
      continue;
    }
    std::optional<UnitPart> part = parts.of(access);
    Terms terms = Terms::Unknown;
    if (part && part->contains(made)) {
      plan::Access same = access;
      uint64_t bytes = access.bytes() / part->elements;
      same.set_offset(access.offset() + (made.begin - part->begin) * bytes);
      same.set_bytes(made.elements * bytes);
      terms = values.valueOf(same).terms;
    } else if (part && roleOf(part->role) == Role::Gradient &&
               (part->unit != made.unit || part->strides == made.strides) &&
               kindOf(step).isLinear(plan, step, index, i)) {
      others = part;
    }
    if (terms == Terms::Earlier || terms == Terms::All) {
      sum = sum ? zerograph::join(*sum, terms) : terms;
      if (keeps && !kindOf(step).isLinear(plan, step, index, i)) {
        problems.add(
            finding::kNotLinear, describeStep(plan, at.program, at.step),
            " makes a sum of ", zerograph::describe(plan, made),
            " of the one before in ", describeSlice(plan, access.slice()),
            ", and does something else than to add to it");
      }
    } else {
      adds = true;
    }
  }
  if (keeps && sum && others) {
    problems.add(finding::kWrongUnit, describeStep(plan, at.program, at.step),
                 " adds ", zerograph::describe(plan, *others), " to a sum of ",
                 zerograph::describe(plan, made));
  }
  return !sum ? Terms::This : adds ? Terms::All : *sum;
}

void GradientSums::reduce(StepPlace at, const UnitPart &part) {
  auto describeAt = [&](StepPlace place) {
    return describeStep(plan, place.program, place.step);
  };
  if (plan.programs(at.program).kind() == plan::EVALUATE) {
    problems.add(finding::kEvaluationThatTrains, describeAt(at),
                 " reduces gradients; expected no gradients there");
  }
  uint64_t end = part.begin + part.elements;
  ByteMap<StepPlace> &done = reduced[part.unit];
  done.visit(part.begin, end, [&](uint64_t, uint64_t, StepPlace first) {
    problems.add(finding::kDoubledReduction, describeAt(first), " and ",
                 describeAt(at), " both reduce ",
                 zerograph::describe(plan, part));
  });
  done.assign(part.begin, end, at);
}

void GradientSums::finish() {
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    const plan::Unit &of = plan.units(unit);
    if (!of.trainable()) {
      continue;
    }
    auto missing = [&](absl::string_view id, const char *what,
                       std::pair<uint64_t, uint64_t> gap) {
      problems.add(id, what, " gradients [", gap.first, ", ", gap.second,
                   ") of unit ", unit, " (", of.name(), ")");
    };
    if (auto gap = kept[unit].firstGap(0, of.elements()); split && gap) {
      missing(finding::kLostGradients, "no state keeps, over micro-batches,",
              *gap);
    }
    // A single rank has nothing to sum.
    if (auto gap = reduced[unit].firstGap(0, of.elements());
        mesh.world() > 1 && gap) {
      missing(finding::kMissingReduction, "no step reduces", *gap);
    }
  }
}

void GradientSums::end(int program, const ValueMap &values) {
  plan::ProgramKind kind = plan.programs(program).kind();
  for (uint32_t slice = 0; slice < sums.size(); ++slice) {
    if (isSum(slice) && kind == plan::MICRO) {
      checkAdded(program, slice, values.of(slice));
    } else if (isSum(slice) && kind != plan::EVALUATE) {
      checkZeroed(program, slice, values.of(slice));
    }
  }
}

/// Looks at a rank's own sums only where parameters lie: nothing reads the
/// elements between them.
void GradientSums::checkAdded(int program, uint32_t slice,
                              const ByteMap<Content> &bytes) {
  const Sum &sum = sums[slice];
  const auto &parameters = plan.units(sum.unit).parameters();
  bool found = false;
  bytes.visit(
      0, ~uint64_t(0), [&](uint64_t from, uint64_t to, const Content &content) {
        if (content.value.terms != Terms::Earlier || found) {
          return;
        }
        std::string where;
        if (sum.whole) {
          uint64_t begin = sum.begin + from / sum.element_bytes;
          uint64_t end = sum.begin + to / sum.element_bytes;
          auto next = std::partition_point(
              parameters.begin(), parameters.end(),
              [&](const plan::Parameter &parameter) {
                return parameter.offset() + parameter.elements() <= begin;
              });
          if (next == parameters.end() || next->offset() >= end) {
            return;
          }
          from += (std::max(next->offset(), begin) - begin) * sum.element_bytes;
          where = absl::StrCat(", where ", next->name(), " lies");
        }
        found = true;
        problems.add(finding::kLostGradients, "when \"",
                     plan.programs(program).name(), "\" ends, ",
                     describe(slice), ", is from byte ", from,
                     " as earlier micro-batches left it", where,
                     "; expected each to add to all of it");
      });
}

void GradientSums::checkZeroed(int program, uint32_t slice,
                               const ByteMap<Content> &bytes) {
  ByteMap<bool> zeros;
  bytes.visit(0, ~uint64_t(0),
              [&](uint64_t begin, uint64_t end, const Content &content) {
                if (content.value.terms == Terms::Zero &&
                    content.part == nullptr) {
                  zeros.assign(begin, end, true);
                }
              });
  auto gap = zeros.firstGap(0, plan.slices(int(slice)).bytes());
  if (gap) {
    problems.add(finding::kGradientsNotZeroed, "no step of \"",
                 plan.programs(program).name(), "\" zeroes bytes [", gap->first,
                 ", ", gap->second, ") of ", describe(slice),
                 ": the next step would add to them");
  }
}

} // namespace zerograph::verify
