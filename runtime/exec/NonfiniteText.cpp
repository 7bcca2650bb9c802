//===- NonfiniteText.cpp - what is said of a value that is not finite -----===//

#include "runtime/exec/NonfiniteSearch.h"

#include "runtime/plan/Describe.h"

using namespace zerograph;

std::string NonfiniteSearch::nameOf(unsigned program, Place place) const {
  const Region &region = *place.region;
  uint32_t slice = plan.programs(int(program))
                       .steps(int(place.step))
                       .accesses(region.access)
                       .slice();
  if (region.parameter) {
    const char *what = region.role == Role::Gradient    ? "the gradient of "
                       : region.role == Role::Optimizer ? "the state of "
                                                        : "parameter ";
    return absl::StrCat(what, "'", region.parameter->name(), "'");
  }
  if (plan.has_loss() && slice == plan.loss().slice()) {
    return "the loss";
  }
  for (const plan::Input &input : plan.inputs()) {
    if (input.slice() == slice) {
      return absl::StrCat("input '", input.name(), "'");
    }
  }
  return absl::StrCat("'", plan.slices(int(slice)).name(), "'");
}

std::string NonfiniteSearch::describe(unsigned program, Place origin,
                                      Place end) const {
  const Region &region = *origin.region;
  uint64_t elements = region.parameter
                          ? region.parameter->elements()
                          : region.bytes.bytes / elementSize(region.type);
  std::string text = absl::StrCat(
      describeStep(plan, program, origin.step), ": element ",
      region.first + region.found->index, " of the ", elements, " of ",
      nameOf(program, origin), " (", zerograph::nameOf(region.type), ") is ",
      region.found->name, ", the first value that is not finite");
  if (end.region != origin.region) {
    absl::StrAppend(&text, "; it reached ", nameOf(program, end), " as ",
                    end.region->found->name);
  }
  return absl::StrCat(text, ". ", advice(program, origin));
}

std::string NonfiniteSearch::advice(unsigned program, Place origin) const {
  const plan::Program &of = plan.programs(int(program));
  const plan::Step &step = of.steps(int(origin.step));
  if (step.has_copy_in()) {
    uint32_t slice = step.accesses(origin.region->access).slice();
    for (const plan::Input &input : plan.inputs()) {
      if (input.slice() == slice && input.per_sample()) {
        uint64_t elements =
            origin.region->bytes.bytes / elementSize(origin.region->type);
        return absl::StrCat("It is so in the data: look at sample ",
                            origin.region->found->index /
                                (elements / input.shape(0)),
                            " of the micro-batch");
      }
    }
    return "It is so in the data";
  }
  if (step.has_all_gather()) {
    return "The parameter was so before the step: look at the weights that "
           "the run began with";
  }
  const plan::Parameter *parameter = origin.region->parameter;
  bool updates = parameter && parameter->trainable() &&
                 origin.region->role != Role::Gradient;
  if (updates || of.kind() == plan::UPDATE) {
    return "The update made it: give a lower --lr, or --clip-norm";
  }
  if (!step.has_launch()) {
    return "It adds up what is too large: give a lower --lr, or --clip-norm, "
           "or look at the size of the data and the first weights";
  }
  return absl::StrCat(
      "The step computes '", step.name(),
      "', perhaps together with nodes before it: look for a logarithm, a root "
      "or a quotient there whose operand leaves its range. Where numbers grow "
      "from step to step, give a lower --lr, or --clip-norm");
}
