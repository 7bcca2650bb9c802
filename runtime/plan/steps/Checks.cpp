//===- Checks.cpp - what kinds of steps ask of their accesses -------------===//

#include "runtime/plan/steps/Checks.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"

#include "absl/strings/str_join.h"

#include <algorithm>

namespace zerograph::steps {
namespace {

/// The alignment that libraries want of scratch.
constexpr uint64_t kScratchAlignment = 64;

} // namespace

absl::Status needLibraryType(const plan::Target &device,
                             absl::Span<const plan::ElementType> types,
                             plan::ElementType type, absl::string_view does) {
  if (std::find(types.begin(), types.end(), type) != types.end()) {
    return absl::OkStatus();
  }
  auto name = [](std::string *to, plan::ElementType one) {
    absl::StrAppend(to, nameOf(one));
  };
  return invalid(does, " elements of type ", nameOf(type), "; the library of ",
                 device.device(), " ", does, " ",
                 absl::StrJoin(types, ", ", name));
}

absl::Status needAccesses(const plan::Step &step, int count) {
  if (step.accesses_size() != count) {
    return invalid("has ", step.accesses_size(), " accesses and needs ", count);
  }
  return absl::OkStatus();
}

absl::Status needMode(const plan::Step &step, int index,
                      std::initializer_list<plan::Mode> modes) {
  for (plan::Mode mode : modes) {
    if (step.accesses(index).mode() == mode) {
      return absl::OkStatus();
    }
  }
  return invalid("access ", index, " is ", nameOf(step.accesses(index).mode()),
                 " and should be ", nameOf(*modes.begin()));
}

absl::Status needApart(const plan::Plan &plan, const plan::Step &step, int a,
                       int b) {
  if (overlap(Mesh(plan), arenaRange(plan, step.accesses(a)),
              arenaRange(plan, step.accesses(b)))) {
    return invalid("accesses ", a, " and ", b, " share bytes, to ",
                   describeSlice(plan, step.accesses(a).slice()), " and ",
                   describeSlice(plan, step.accesses(b).slice()));
  }
  return absl::OkStatus();
}

absl::Status needAligned(const plan::Plan &plan, const plan::Step &step,
                         int index, uint64_t element) {
  const plan::Access &access = step.accesses(index);
  bool aligned = access.offset() % element == 0;
  for (uint64_t stride : access.strides()) {
    aligned = aligned && stride % element == 0;
  }
  if (!aligned) {
    return invalid("access ", index, " to ",
                   describeSlice(plan, access.slice()), " begins at byte ",
                   describeBegin(access), "; all must be multiples of ",
                   element);
  }
  return absl::OkStatus();
}

absl::Status needLibraryAccesses(const plan::Plan &plan, const plan::Step &step,
                                 uint64_t element, plan::Mode result,
                                 bool bias) {
  int scratch = bias ? 4 : 3;
  if (step.accesses_size() != scratch) {
    ZG_RETURN_IF_ERROR(needAccesses(step, scratch + 1));
    ZG_RETURN_IF_ERROR(
        needMode(step, scratch, {plan::WRITE, plan::READ_WRITE}));
    ZG_RETURN_IF_ERROR(needAligned(plan, step, scratch, kScratchAlignment));
  }
  for (int i = 0; i < scratch; ++i) {
    ZG_RETURN_IF_ERROR(needMode(step, i, {i == 2 ? result : plan::READ}));
    ZG_RETURN_IF_ERROR(needAligned(plan, step, i, element));
  }
  // The result and the scratch lie apart from all else.
  for (int i = 0; i < step.accesses_size(); ++i) {
    for (int written : {2, scratch}) {
      if (i != written && written < step.accesses_size()) {
        ZG_RETURN_IF_ERROR(needApart(plan, step, i, written));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status needAxes(const plan::Plan &plan, const Axes &axes) {
  int64_t previous = -1;
  for (uint32_t axis : axes) {
    if (axis >= uint32_t(plan.mesh_size()) || int64_t(axis) <= previous) {
      return invalid("names axis ", axis, " of ", plan.mesh_size(),
                     "; axes exist and ascend");
    }
    previous = axis;
  }
  return absl::OkStatus();
}

absl::Status needGroup(const plan::Plan &plan, const plan::Step &step) {
  if (step.axes().empty()) {
    return invalid("names no axes, and so no group");
  }
  return needAxes(plan, step.axes());
}

absl::Status needSegment(const plan::Plan &plan, const plan::Step &step,
                         int whole, int part, uint64_t elements,
                         plan::ElementType type, plan::ElementType part_type) {
  Mesh mesh(plan);
  const plan::Access &segment = step.accesses(whole);
  const plan::Access &shard = step.accesses(part);
  uint32_t ranks = mesh.groupSize(step.axes());
  // Elements were checked with the unit; a type has at most 8 bytes.
  if (elementSize(type) == 0 ||
      segment.bytes() != elements * elementSize(type) ||
      shard.bytes() != elements / ranks * elementSize(part_type)) {
    return invalid("a segment has ", elements, " elements of type ",
                   nameOf(type), ", and its shard of type ", nameOf(part_type),
                   "; accesses ", whole, " and ", part,
                   " to it and its shard have ", segment.bytes(), " and ",
                   shard.bytes(), " bytes");
  }
  Strides strides = mesh.strides(segment);
  for (uint32_t axis : step.axes()) {
    if (strides[axis] != 0) {
      return invalid("access ", whole,
                     ", the whole segment, lies elsewhere on each rank");
    }
  }
  ZG_RETURN_IF_ERROR(needAligned(plan, step, whole, elementSize(type)));
  ZG_RETURN_IF_ERROR(needAligned(plan, step, part, elementSize(part_type)));
  if (type != part_type) {
    return needApart(plan, step, whole, part);
  }
  Range own = arenaRange(plan, segment);
  own.bytes = shard.bytes();
  Strides shift = mesh.shardStrides(step.axes(), own.bytes);
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    own.strides[axis] += shift[axis];
  }
  if (!same(arenaRange(plan, shard), own) &&
      overlap(mesh, arenaRange(plan, shard), arenaRange(plan, segment))) {
    return invalid("the shard in ", describeSlice(plan, shard.slice()),
                   " shares bytes with its segment without being the rank's "
                   "own part of it");
  }
  return absl::OkStatus();
}

} // namespace zerograph::steps
