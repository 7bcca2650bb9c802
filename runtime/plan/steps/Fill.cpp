//===- Fill.cpp - zero bytes ----------------------------------------------===//

#include "runtime/plan/steps/Checks.h"
#include "runtime/plan/steps/Step.h"

namespace zerograph {
namespace {

class Fill final : public StepKind {
public:
  absl::string_view name() const override { return "fill"; }

  absl::Status validate(const plan::Plan &,
                        const plan::Step &step) const override {
    ZG_RETURN_IF_ERROR(steps::needAccesses(step, 1));
    return steps::needMode(step, 0, {plan::WRITE});
  }

  void transfer(const plan::Step &step, ValueState &state) const override {
    state.write(step.accesses(0), {Sharing::Replicated, Terms::Zero});
  }

  std::string wrongStream(const plan::Plan &, const plan::Step &,
                          plan::StreamKind stream) const override {
    return stream == plan::FILE_READ || stream == plan::FILE_WRITE
               ? "file streams only copy"
               : "";
  }
};

} // namespace

ZG_STEP_KIND(Fill, fill)

} // namespace zerograph
