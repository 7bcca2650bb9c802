//===- UnitParts.cpp - which part of which unit bytes stand for -----------===//

#include "runtime/plan/UnitParts.h"

#include "runtime/plan/Describe.h"

#include "absl/strings/str_cat.h"

namespace zerograph {

Role roleOf(absl::string_view name) {
  return name == kParamRole      ? Role::Param
         : name == kMasterRole   ? Role::Master
         : name == kGradientRole ? Role::Gradient
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

bool fits(absl::string_view role, plan::SliceClass of) {
  switch (roleOf(role)) {
  case Role::Param:
    return of == plan::PARAM_SHARD || of == plan::GATHERED;
  case Role::Gradient:
    return of == plan::GRAD || of == plan::GRAD_SHARD || of == plan::GATHERED;
  case Role::Master:
  case Role::Optimizer:
    break;
  }
  return of == plan::OPTIMIZER;
}

static std::string describeRole(absl::string_view role) {
  switch (roleOf(role)) {
  case Role::Param:
    return "parameters";
  case Role::Master:
    return "masters";
  case Role::Gradient:
    return "gradients";
  case Role::Optimizer:
    break;
  }
  return absl::StrCat("\"", role, "\"");
}

std::string describe(const plan::Plan &plan, const UnitPart &part) {
  return absl::StrCat(describeRole(part.role), " [",
                      describeBegin(part.begin, part.strides), ", + ",
                      part.elements, ") of unit ", part.unit, " (",
                      plan.units(part.unit).name(), ")");
}

UnitParts::UnitParts(const plan::Plan &plan)
    : plan(plan), mesh(plan), slices(plan.slices_size()) {
  for (int i = 0; i < plan.slices_size(); ++i) {
    if (plan.slices(i).has_holds()) {
      const plan::UnitElements &held = plan.slices(i).holds();
      hold(i, {int(held.unit()), held.role(), held.begin(), held.elements(),
               mesh.shardStrides(held.axes(), held.elements())});
    }
  }
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    for (const plan::State &state : plan.units(unit).states()) {
      hold(int(state.slice()),
           shardOf(unit, state.segment(), state.role(), state.axes()));
    }
  }
}

void UnitParts::hold(int slice, const UnitPart &part) {
  slices[slice] = {part, plan.slices(slice).bytes() / part.elements};
}

UnitPart UnitParts::segment(int unit, int i, absl::string_view role) const {
  if (i < 0) {
    return {unit, role, 0, plan.units(unit).elements(), {}};
  }
  const plan::Segment &segment = plan.units(unit).segments(i);
  return {unit, role, segment.offset(), segment.elements(), {}};
}

UnitPart UnitParts::shardOf(int unit, int i, absl::string_view role,
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
