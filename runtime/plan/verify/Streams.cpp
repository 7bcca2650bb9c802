//===- Streams.cpp - who may do what, and where ---------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {
namespace {

/// Empty, or why a device cannot touch the bytes.
std::string unreachable(const plan::Plan &plan, const plan::Step &step,
                        const plan::Access &access) {
  const plan::Arena &arena =
      plan.arenas(int(plan.slices(int(access.slice())).arena()));
  if (arena.space() == plan::NVME) {
    return step.has_copy() ? "" : "in nvme, which only copies reach";
  }
  uint32_t device = plan.streams(int(step.stream())).device();
  if (arena.space() != plan::PINNED && arena.device() != device) {
    return absl::StrCat("in ", nameOf(arena.space()), " memory of device ",
                        arena.device(), ", which device ", device,
                        " does not reach");
  }
  return "";
}

} // namespace

void checkStreams(const VerifierContext &context, Findings &findings) {
  const plan::Plan &plan = context.plan;
  forEachStep(plan, [&](int p, int s, const plan::Step &step) {
    for (uint32_t wait : step.waits()) {
      if (plan.programs(p).steps(int(wait)).stream() == step.stream()) {
        findings.waste.add(finding::kUselessWait, describeStep(plan, p, s),
                           " waits for ", describeStep(plan, p, wait),
                           " of its own stream ", streamName(plan, step));
      }
    }
    const plan::Stream &stream = plan.streams(int(step.stream()));
    std::string wrong = kindOf(step).wrongStream(plan, step, stream.kind());
    if (!wrong.empty()) {
      findings.problems.add(finding::kWrongStream, describeStep(plan, p, s),
                            " is on ", stream.name(), ", of kind ",
                            nameOf(stream.kind()), "; ", wrong);
    }
    for (const plan::Access &access : step.accesses()) {
      if (std::string why = unreachable(plan, step, access); !why.empty()) {
        findings.problems.add(finding::kWrongSpace, describeStep(plan, p, s),
                              " touches ", describeSlice(plan, access.slice()),
                              " ", why);
      }
    }
  });
}

} // namespace zerograph::verify
