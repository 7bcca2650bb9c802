//===- Copy.cpp - bytes from one place to another -------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Checks.h"
#include "runtime/plan/steps/Step.h"

namespace zerograph {
namespace {

bool isFile(plan::StreamKind stream) {
  return stream == plan::FILE_READ || stream == plan::FILE_WRITE;
}

plan::Space spaceOf(const plan::Plan &plan, const plan::Access &access) {
  return plan.arenas(int(plan.slices(int(access.slice())).arena())).space();
}

/// The stream that a copy between two spaces belongs on; COMPUTE: any but those
/// of files. STREAM_INVALID where there is no way.
plan::StreamKind streamOf(plan::Space from, plan::Space to) {
  if (from == plan::NVME || to == plan::NVME) {
    plan::Space other = from == plan::NVME ? to : from;
    return other != plan::PINNED ? plan::STREAM_INVALID
           : from == plan::NVME  ? plan::FILE_READ
                                 : plan::FILE_WRITE;
  }
  if ((from == plan::DEVICE) == (to == plan::DEVICE)) {
    return plan::COMPUTE;
  }
  plan::Space host = from == plan::DEVICE ? to : from;
  return host != plan::PINNED   ? plan::STREAM_INVALID
         : from == plan::DEVICE ? plan::COPY_OUT
                                : plan::COPY_IN;
}

class Copy final : public StepKind {
public:
  absl::string_view name() const override { return "copy"; }

  absl::Status validate(const plan::Plan &plan,
                        const plan::Step &step) const override {
    ZG_RETURN_IF_ERROR(steps::needAccesses(step, 2));
    ZG_RETURN_IF_ERROR(steps::needMode(step, 0, {plan::READ}));
    ZG_RETURN_IF_ERROR(steps::needMode(step, 1, {plan::WRITE}));
    if (step.accesses(0).bytes() != step.accesses(1).bytes()) {
      return steps::invalid("copies ", step.accesses(0).bytes(), " bytes to ",
                            step.accesses(1).bytes());
    }
    return steps::needApart(plan, step, 0, 1);
  }

  int copied(int access) const override { return access == 1 ? 0 : -1; }

  void transfer(const plan::Step &step, ValueState &state) const override {
    state.copy(step.accesses(0), step.accesses(1));
  }

  std::string wrongStream(const plan::Plan &plan, const plan::Step &step,
                          plan::StreamKind stream) const override {
    plan::Space from = spaceOf(plan, step.accesses(0));
    plan::Space to = spaceOf(plan, step.accesses(1));
    plan::StreamKind needed = streamOf(from, to);
    if (needed == plan::STREAM_INVALID) {
      return absl::StrCat("nothing copies from ", nameOf(from), " to ",
                          nameOf(to));
    }
    if (needed == plan::COMPUTE ? !isFile(stream) : stream == needed) {
      return "";
    }
    return absl::StrCat("copies from ", nameOf(from), " to ", nameOf(to),
                        " are on streams of kind ", nameOf(needed));
  }
};

} // namespace

ZG_STEP_KIND(Copy, copy)

} // namespace zerograph
