//===- UnitParts.cpp - which part of which unit bytes stand for -----------===//

#include "runtime/plan/UnitParts.h"

#include "runtime/plan/Describe.h"

#include "absl/strings/str_cat.h"

namespace zerograph {

Role roleOf(const plan::State &state) {
  return state.role() == "param"    ? Role::Param
         : state.role() == "master" ? Role::Master
         : state.role() == "grad"   ? Role::Gradient
                                    : Role::Optimizer;
}

Role roleOfValues(const plan::Unit &unit) {
  for (const plan::State &state : unit.states()) {
    if (roleOf(state) == Role::Master) {
      return Role::Master;
    }
  }
  return Role::Param;
}

std::string describe(const plan::Plan &plan, const UnitPart &part) {
  const char *what = part.role == Role::Param      ? "parameters"
                     : part.role == Role::Master   ? "masters"
                     : part.role == Role::Gradient ? "gradients"
                                                   : "optimizer state";
  return absl::StrCat(what, " [", describeBegin(part.begin, part.strides),
                      ", + ", part.elements, ") of unit ", part.unit, " (",
                      plan.units(part.unit).name(), ")");
}

UnitParts::UnitParts(const plan::Plan &plan)
    : plan(plan), mesh(plan), slices(plan.slices_size()) {
  for (int i = 0; i < plan.slices_size(); ++i) {
    const plan::Slice &slice = plan.slices(i);
    if (slice.slice_class() == plan::GRAD ||
        slice.slice_class() == plan::GRAD_SHARD) {
      hold(uint32_t(i), Role::Gradient, slice.unit(), slice.segment(), {});
    }
  }
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      holdWhatIsReceived(step);
    }
  }
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    for (const plan::State &state : plan.units(unit).states()) {
      hold(state.slice(), roleOf(state), unit, state.segment(), state.axes());
    }
  }
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      holdWhatIsCopied(step);
      nameWhatIsGathered(step);
    }
  }
}

void UnitParts::holdWhatIsReceived(const plan::Step &step) {
  auto receive = [&](int access, plan::SliceClass of, Role role,
                     const Axes &axes) {
    uint32_t index = step.accesses(access).slice();
    const plan::Slice &slice = plan.slices(int(index));
    if (slice.slice_class() == of) {
      hold(index, role, slice.unit(), slice.segment(), axes);
    }
  };
  if (step.has_reduce_scatter()) {
    receive(1, plan::GRAD_SHARD, Role::Gradient, step.axes());
  }
  for (int i = 1; step.has_all_gather() && i < step.accesses_size(); i += 2) {
    receive(i, plan::GATHERED, Role::Param, {});
  }
}

/// Gives what is gathered the role of the states that it is gathered from.
void UnitParts::nameWhatIsGathered(const plan::Step &step) {
  for (int i = 1; step.has_all_gather() && i < step.accesses_size(); i += 2) {
    uint32_t index = step.accesses(i).slice();
    Holding &whole = slices[index];
    const Holding &shard = slices[step.accesses(i - 1).slice()];
    if (plan.slices(int(index)).slice_class() == plan::GATHERED &&
        whole.element_bytes != 0 && shard.element_bytes != 0) {
      whole.part.role = shard.part.role;
    }
  }
}

/// Whole buffers that are no states of their own, on their way to the host or
/// from it: what they are copied from, or to.
void UnitParts::holdWhatIsCopied(const plan::Step &step) {
  if (!step.has_copy()) {
    return;
  }
  const plan::Access &from = step.accesses(0), &to = step.accesses(1);
  if (isWholeBuffer(to)) {
    holdAs(to, of(from));
    return;
  }
  plan::SliceClass made = plan.slices(int(from.slice())).slice_class();
  if (isWholeBuffer(from) && slices[from.slice()].element_bytes == 0 &&
      (made == plan::PARAM_SHARD || made == plan::OPTIMIZER)) {
    holdAs(from, of(to)); // what a step makes for it is compared then
  }
}

bool UnitParts::isWholeBuffer(const plan::Access &access) const {
  const plan::Slice &slice = plan.slices(int(access.slice()));
  return !slice.carried() && access.offset() == 0 &&
         mesh.strides(access) == Strides{} && access.bytes() == slice.bytes();
}

void UnitParts::holdAs(const plan::Access &access,
                       const std::optional<UnitPart> &part) {
  if (part && part->elements != 0) {
    slices[access.slice()] = {*part, access.bytes() / part->elements};
  }
}

void UnitParts::hold(uint32_t slice, Role role, int unit, int segment,
                     const Axes &axes) {
  if (unit < 0 || unit >= plan.units_size()) {
    return;
  }
  const plan::Unit &of = plan.units(unit);
  if (segment >= of.segments_size()) {
    return;
  }
  // The shard of a whole buffer is one only where there is one segment.
  if (segment < 0 && !axes.empty()) {
    if (of.segments_size() != 1) {
      return;
    }
    segment = 0;
  }
  UnitPart part;
  part.unit = unit;
  part.role = role;
  part.elements = of.elements();
  if (segment >= 0) {
    part = shardOf(unit, segment, role, axes);
  }
  uint64_t bytes = plan.slices(int(slice)).bytes();
  if (bytes != 0 && bytes % part.elements == 0) {
    slices[slice] = {part, bytes / part.elements};
  }
}

UnitPart UnitParts::segment(int unit, int i, Role role) const {
  const plan::Segment &segment = plan.units(unit).segments(i);
  return {unit, role, segment.offset(), segment.elements(), {}};
}

UnitPart UnitParts::shardOf(int unit, int i, Role role,
                            const Axes &axes) const {
  UnitPart part = segment(unit, i, role);
  part.elements /= mesh.groupSize(axes);
  part.strides = mesh.shardStrides(axes, part.elements);
  return part;
}

std::optional<UnitPart> UnitParts::of(const plan::Access &access) const {
  const Holding &holding = slices[access.slice()];
  uint64_t size = holding.element_bytes;
  if (size == 0) {
    return std::nullopt;
  }
  UnitPart part = holding.part;
  Strides strides = mesh.strides(access);
  bool whole = access.offset() % size == 0 && access.bytes() % size == 0;
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    whole = whole && strides[axis] % size == 0;
    part.strides[axis] += strides[axis] / size;
  }
  part.begin += access.offset() / size;
  part.elements = whole ? access.bytes() / size : 0;
  return part;
}

} // namespace zerograph
