//===- Step.cpp - the table of kinds of steps -----------------------------===//

#include "runtime/plan/steps/Step.h"

#include "runtime/plan/steps/Checks.h"

#include <algorithm>

namespace zerograph {

namespace steps {
// The kinds: a file each, named after it.
const StepKind &launch();
const StepKind &matmul();
const StepKind &convolution();
const StepKind &allGather();
const StepKind &reduceScatter();
const StepKind &allReduce();
const StepKind &copy();
const StepKind &fill();
const StepKind &copyIn();
} // namespace steps

Effect StepKind::effect(const plan::Step &step, int access) const {
  plan::Mode mode = step.accesses(access).mode();
  return {mode != plan::WRITE, mode != plan::READ};
}

void StepKind::share(const plan::Step &step, SharingState &state) const {
  Sharing sharing = Sharing::Replicated;
  for (int i = 0; i < step.accesses_size(); ++i) {
    if (effect(step, i).reads) {
      sharing = std::max(sharing, state.read(step.accesses(i)));
    }
  }
  for (int i = 0; i < step.accesses_size(); ++i) {
    if (effect(step, i).writes) {
      state.write(step.accesses(i), sharing);
    }
  }
}

Expected StepKind::expected(const UnitParts &, const plan::Step &, int) const {
  return {};
}

Traffic StepKind::traffic(const plan::Plan &, const plan::Step &) const {
  return {};
}

namespace {

class Nothing final : public StepKind {
public:
  absl::string_view name() const override { return "nothing"; }
  absl::Status validate(const plan::Plan &, const plan::Step &) const override {
    return steps::invalid("does nothing that this program knows");
  }
  plan::ElementType type(const plan::Plan &, const plan::Step &,
                         int) const override {
    return plan::ELEMENT_INVALID;
  }
  std::string wrongStream(const plan::Plan &, const plan::Step &,
                          plan::StreamKind) const override {
    return "";
  }
};

} // namespace

const StepKind &kindOf(const plan::Step &step) {
  switch (step.op_case()) {
  case plan::Step::kLaunch:
    return steps::launch();
  case plan::Step::kMatmul:
    return steps::matmul();
  case plan::Step::kConvolution:
    return steps::convolution();
  case plan::Step::kAllGather:
    return steps::allGather();
  case plan::Step::kReduceScatter:
    return steps::reduceScatter();
  case plan::Step::kAllReduce:
    return steps::allReduce();
  case plan::Step::kCopy:
    return steps::copy();
  case plan::Step::kFill:
    return steps::fill();
  case plan::Step::kCopyIn:
    return steps::copyIn();
  case plan::Step::OP_NOT_SET:
    break;
  }
  static const Nothing nothing;
  return nothing;
}

} // namespace zerograph
