//===- Copies.cpp - what crosses is what it is said to be -----------------===//
//
// Between device, host and file: a buffer that says of which unit it is gets
// just that, gradients on their way to the host, shards of parameters on their
// way back, and states from the file. What updates a state is another check's
// part.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/UnitParts.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {
namespace {

bool isOfSegment(const plan::Plan &plan, const UnitPart &part, int segment) {
  const plan::Unit &unit = plan.units(part.unit);
  uint64_t begin = segment < 0 ? 0 : unit.segments(segment).offset();
  uint64_t end =
      segment < 0 ? unit.elements() : begin + unit.segments(segment).elements();
  return part.begin >= begin && part.begin + part.elements <= end;
}

bool holds(const plan::Plan &plan, const plan::Slice &slice,
           const UnitPart &part) {
  plan::SliceClass of = slice.slice_class();
  bool gradients = of == plan::GRAD || of == plan::GRAD_SHARD;
  return slice.unit() == part.unit &&
         isOfSegment(plan, part, slice.segment()) &&
         (part.role == Role::Gradient ? gradients
          : of == plan::OPTIMIZER
              ? part.role != Role::Param
              : part.role != Role::Optimizer && of == plan::PARAM_SHARD);
}

} // namespace

void checkCopies(const VerifierContext &context, Findings &findings) {
  const plan::Plan &plan = context.plan;
  const UnitParts &parts = context.parts;
  forEachStep(plan, [&](int p, int s, const plan::Step &step) {
    if (!transferKindOf(plan, step)) {
      return;
    }
    uint32_t to = step.accesses(1).slice();
    const plan::Slice &slice = plan.slices(int(to));
    std::optional<UnitPart> part = parts.of(step.accesses(0));
    if (slice.carried() || slice.unit() < 0 ||
        (part && part->elements != 0 && holds(plan, slice, *part))) {
      return;
    }
    findings.problems.add("wrong unit: ", describeStep(plan, p, s), " copies ",
                          part ? describe(plan, *part)
                               : describeSlice(plan, step.accesses(0).slice()),
                          " to ", describeSlice(plan, to),
                          ", which is said to hold ",
                          nameOf(slice.slice_class()), " of segment ",
                          slice.segment(), " of unit ", slice.unit());
  });
}

} // namespace zerograph::verify
