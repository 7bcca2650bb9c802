//===- Definitions.cpp - nothing is read before it is written -------------===//
//
// Bytes that a program does not carry are undefined when it starts. Steps are
// taken in issue order, which extends every order the plan guarantees; that
// the write of a read's bytes is ordered before it is the race check's part.
// When "forward" has ended, the runtime reads the outputs.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {
namespace {

struct Use {
  uint32_t step;
  const plan::Access *access;
  Effect effect;
};

/// A step's working space is written by it alone, and not read by others.
void checkWorkingSpace(const plan::Plan &plan, int p, int s,
                       Problems &problems) {
  const plan::Step &step = plan.programs(p).steps(s);
  for (int i = 0; i < step.accesses_size(); ++i) {
    uint32_t slice = step.accesses(i).slice();
    const plan::Slice &declared = plan.slices(int(slice));
    if (declared.slice_class() == plan::STAGING && !declared.carried() &&
        effectOf(step, i).reads) {
      problems.add(finding::kReadBeforeItIsWritten, describeStep(plan, p, s),
                   " reads ", describeSlice(plan, slice),
                   ", working space, of which nothing outlives a step");
    }
  }
}

/// By slice: the output that the runtime reads there in the end, or null.
std::vector<const plan::Output *> outputsBySlice(const plan::Plan &plan) {
  std::vector<const plan::Output *> outputs(plan.slices_size());
  for (const plan::Output &output : plan.outputs()) {
    outputs[output.slice()] = &output;
  }
  return outputs;
}

/// True if a problem was found: one a slice is enough.
bool checkSlice(const VerifierContext &context, int program, int slice,
                const std::vector<Use> &uses, uint32_t rank,
                const plan::Output *output, Problems &problems) {
  ByteMap<bool> written;
  auto range = [&](const plan::Access &access) {
    uint64_t begin = access.offset() +
                     context.mesh.offset(context.mesh.strides(access), rank);
    return std::pair(begin, begin + access.bytes());
  };
  for (size_t i = 0; i < uses.size();) {
    // All reads of a step come before all its writes.
    size_t end = i;
    while (end < uses.size() && uses[end].step == uses[i].step) {
      auto [begin, stop] = range(*uses[end].access);
      auto gap =
          uses[end].effect.reads ? written.firstGap(begin, stop) : std::nullopt;
      if (gap) {
        problems.add(finding::kReadBeforeItIsWritten,
                     describeStep(context.plan, program, uses[end].step),
                     " reads bytes [", begin, ", ", stop, ") of ",
                     describeSlice(context.plan, slice),
                     ", and no step before it writes byte ", gap->first,
                     rank == 0 ? "" : absl::StrCat(" on rank ", rank));
        return true;
      }
      ++end;
    }
    for (; i < end; ++i) {
      auto [begin, stop] = range(*uses[i].access);
      if (uses[i].effect.writes) {
        written.assign(begin, stop, true);
      }
    }
  }
  auto gap = output ? written.firstGap(0, context.plan.slices(slice).bytes())
                    : std::nullopt;
  if (gap) {
    problems.add(finding::kReadBeforeItIsWritten, "the runtime reads ",
                 describeSlice(context.plan, slice), " as output ",
                 output->name(), ", and no step writes byte ", gap->first);
  }
  return gap.has_value();
}

} // namespace

void checkDefinitions(const VerifierContext &context, Findings &findings) {
  const plan::Plan &plan = context.plan;
  std::vector<const plan::Output *> outputs = outputsBySlice(plan);
  for (int p = 0; p < plan.programs_size(); ++p) {
    std::vector<std::vector<Use>> slices(plan.slices_size());
    std::vector<bool> by_rank(plan.slices_size());
    const plan::Program &program = plan.programs(p);
    for (int s = 0; s < program.steps_size(); ++s) {
      checkWorkingSpace(plan, p, s, findings.problems);
      for (int i = 0; i < program.steps(s).accesses_size(); ++i) {
        const plan::Access &access = program.steps(s).accesses(i);
        if (plan.slices(access.slice()).carried() &&
            outputs[access.slice()] == nullptr) {
          continue;
        }
        slices[access.slice()].push_back(
            {uint32_t(s), &access, effectOf(program.steps(s), i)});
        if (context.mesh.strides(access) != Strides{}) {
          by_rank[access.slice()] = true;
        }
      }
    }
    for (int slice = 0; slice < plan.slices_size(); ++slice) {
      uint32_t ranks = by_rank[slice] ? context.mesh.world() : 1;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        if (checkSlice(context, p, slice, slices[slice], rank, outputs[slice],
                       findings.problems)) {
          break;
        }
      }
      if (findings.problems.enough()) {
        return;
      }
    }
  }
}

} // namespace zerograph::verify
