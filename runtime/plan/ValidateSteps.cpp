//===- ValidateSteps.cpp - the operation of a step against its accesses ---===//

#include "runtime/plan/Validate.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/StepChecks.h"
#include "runtime/plan/Supported.h"

namespace zerograph {
namespace detail {
namespace {

/// A shard and its segment are apart, or the shard is the rank's own part.
absl::Status needOwnPartOrApart(const plan::Plan &plan, const plan::Step &step,
                                int shard, int segment) {
  Range part = arenaRange(plan, step.accesses(shard));
  Range whole = arenaRange(plan, step.accesses(segment));
  bool own = part.arena == whole.arena && part.begin == whole.begin &&
             (plan.world() == 1 || part.stride == part.bytes);
  if (!own && overlap(part, whole, plan.world())) {
    return invalid("the shard in ",
                   describeSlice(plan, step.accesses(shard).slice()),
                   " shares bytes with its segment without being the rank's "
                   "own part of it");
  }
  return absl::OkStatus();
}

absl::StatusOr<const plan::Unit *> unitOf(const plan::Plan &plan, int unit) {
  if (unit < 0 || unit >= plan.units_size()) {
    return invalid("names unit ", unit, " of ", plan.units_size());
  }
  return &plan.units(unit);
}

absl::Status needReducible(plan::ElementType type) {
  if (!canReduce(type)) {
    return invalid("adds up elements of type ", nameOf(type),
                   "; reductions of f32 and f64 exist");
  }
  return absl::OkStatus();
}

absl::Status needSegment(const plan::Plan &plan, const plan::Step &step,
                         int whole, int shard, uint64_t elements,
                         plan::ElementType type) {
  // Elements were checked with the unit; a type has at most 8 bytes.
  uint64_t bytes = elements * elementSize(type);
  if (elementSize(type) == 0 || step.accesses(whole).bytes() != bytes ||
      step.accesses(shard).bytes() != bytes / plan.world()) {
    return invalid("a segment has ", elements, " elements of type ",
                   nameOf(type), "; accesses ", whole, " and ", shard,
                   " to it and its shard have ", step.accesses(whole).bytes(),
                   " and ", step.accesses(shard).bytes(), " bytes");
  }
  if (plan.world() > 1 && step.accesses(whole).rank_stride() != 0) {
    return invalid("access ", whole,
                   ", the whole segment, lies elsewhere on each rank");
  }
  for (int index : {whole, shard}) {
    ZG_RETURN_IF_ERROR(needAligned(plan, step, index, elementSize(type)));
  }
  return needOwnPartOrApart(plan, step, shard, whole);
}

absl::Status validateAllGather(const plan::Plan &plan, const plan::Step &step) {
  ZG_ASSIGN_OR_RETURN(const plan::Unit *unit,
                      unitOf(plan, step.all_gather().unit()));
  plan::Stay stay = step.all_gather().stay();
  bool sharded = plan.zero_stage() == 3 && !unit->persistent();
  if (!plan::Stay_IsValid(stay) || (stay == plan::STAY_NONE) == sharded) {
    return invalid("has the stay ", int(stay), ", which a unit that is ",
                   sharded ? "sharded" : "whole", " between steps cannot have");
  }
  ZG_RETURN_IF_ERROR(needAccesses(step, 2 * unit->segments_size()));
  for (int i = 0; i < unit->segments_size(); ++i) {
    ZG_RETURN_IF_ERROR(needMode(step, 2 * i, {plan::READ}));
    ZG_RETURN_IF_ERROR(needMode(step, 2 * i + 1, {plan::WRITE}));
    ZG_RETURN_IF_ERROR(needSegment(plan, step, 2 * i + 1, 2 * i,
                                   unit->segments(i).elements(),
                                   step.all_gather().type()));
  }
  return absl::OkStatus();
}

absl::Status validateReduceScatter(const plan::Plan &plan,
                                   const plan::Step &step) {
  const plan::ReduceScatter &op = step.reduce_scatter();
  ZG_ASSIGN_OR_RETURN(const plan::Unit *unit, unitOf(plan, op.unit()));
  if (op.segment() < 0 || op.segment() >= unit->segments_size()) {
    return invalid("names segment ", op.segment(), " of ",
                   unit->segments_size());
  }
  ZG_RETURN_IF_ERROR(needAccesses(step, 3));
  ZG_RETURN_IF_ERROR(needMode(step, 0, {plan::READ}));
  ZG_RETURN_IF_ERROR(
      needMode(step, 1, {op.accumulate() ? plan::READ_WRITE : plan::WRITE}));
  ZG_RETURN_IF_ERROR(needMode(step, 2, {plan::WRITE, plan::READ_WRITE}));
  ZG_RETURN_IF_ERROR(needSegment(
      plan, step, 0, 1, unit->segments(op.segment()).elements(), op.type()));
  ZG_RETURN_IF_ERROR(needReducible(op.type()));
  ZG_RETURN_IF_ERROR(needAligned(plan, step, 2, elementSize(op.type())));
  if (op.accumulate()) {
    ZG_RETURN_IF_ERROR(needApart(plan, step, 0, 1));
  }
  if (op.chunk_bytes() == 0 || op.chunk_bytes() % elementSize(op.type()) != 0 ||
      !(Checked(op.chunk_bytes()) * plan.world())
           .atMost(step.accesses(2).bytes())) {
    return invalid("exchanges chunks of ", op.chunk_bytes(),
                   " bytes, not whole elements or more than its staging of ",
                   step.accesses(2).bytes(), " bytes holds for ", plan.world(),
                   " ranks");
  }
  ZG_RETURN_IF_ERROR(needApart(plan, step, 0, 2));
  return needApart(plan, step, 1, 2);
}

absl::Status validateAllReduce(const plan::Plan &plan, const plan::Step &step) {
  uint64_t element = elementSize(step.all_reduce().type());
  if (element == 0 || step.accesses_size() == 0 ||
      step.accesses_size() % 2 != 0) {
    return invalid("sums elements of type ", nameOf(step.all_reduce().type()),
                   " in ", step.accesses_size(),
                   " accesses; it needs pairs of values and sums");
  }
  ZG_RETURN_IF_ERROR(needReducible(step.all_reduce().type()));
  for (int i = 0; i < step.accesses_size(); i += 2) {
    ZG_RETURN_IF_ERROR(needMode(step, i, {plan::READ}));
    ZG_RETURN_IF_ERROR(needMode(step, i + 1, {plan::READ_WRITE}));
    ZG_RETURN_IF_ERROR(needAligned(plan, step, i, element));
    ZG_RETURN_IF_ERROR(needAligned(plan, step, i + 1, element));
    uint64_t bytes = step.accesses(i).bytes();
    if (bytes != step.accesses(i + 1).bytes() || bytes % element != 0) {
      return invalid("values of ", bytes, " bytes and their sum of ",
                     step.accesses(i + 1).bytes(),
                     " bytes differ or are no whole elements");
    }
  }
  for (int i = 1; i < step.accesses_size(); i += 2) {
    for (int j = 0; j < step.accesses_size(); ++j) {
      if (i != j) {
        ZG_RETURN_IF_ERROR(needApart(plan, step, j, i));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status validateCopy(const plan::Plan &plan, const plan::Step &step) {
  ZG_RETURN_IF_ERROR(needAccesses(step, 2));
  ZG_RETURN_IF_ERROR(needMode(step, 0, {plan::READ}));
  ZG_RETURN_IF_ERROR(needMode(step, 1, {plan::WRITE}));
  if (step.accesses(0).bytes() != step.accesses(1).bytes()) {
    return invalid("copies ", step.accesses(0).bytes(), " bytes to ",
                   step.accesses(1).bytes());
  }
  return needApart(plan, step, 0, 1);
}

} // namespace

absl::Status validateOperation(const plan::Plan &plan, const plan::Step &step) {
  switch (step.op_case()) {
  case plan::Step::kLaunch:
    return validateLaunch(plan, step);
  case plan::Step::kMatmul:
    return validateMatmul(plan, step);
  case plan::Step::kConvolution:
    return validateConvolution(plan, step);
  case plan::Step::kAllGather:
    return validateAllGather(plan, step);
  case plan::Step::kReduceScatter:
    return validateReduceScatter(plan, step);
  case plan::Step::kAllReduce:
    return validateAllReduce(plan, step);
  case plan::Step::kCopy:
    return validateCopy(plan, step);
  case plan::Step::kFill:
    ZG_RETURN_IF_ERROR(needAccesses(step, 1));
    return needMode(step, 0, {plan::WRITE});
  case plan::Step::OP_NOT_SET:
    break;
  }
  return invalid("does nothing that this program knows");
}

} // namespace detail
} // namespace zerograph
