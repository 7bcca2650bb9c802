//===- Step.cpp - the table of kinds of steps -----------------------------===//

#include "runtime/plan/steps/Step.h"

#include "runtime/plan/steps/Checks.h"

#include <algorithm>

// A line a kind: its case in plan.proto, and its function, which its file
// defines.
#define ZG_STEP_KINDS(KIND)                                                    \
  KIND(Launch, launch)                                                         \
  KIND(Matmul, matmul)                                                         \
  KIND(Convolution, convolution)                                               \
  KIND(AllGather, allGather)                                                   \
  KIND(ReduceScatter, reduceScatter)                                           \
  KIND(AllReduce, allReduce)                                                   \
  KIND(Copy, copy)                                                             \
  KIND(Fill, fill)                                                             \
  KIND(CopyIn, copyIn)

namespace zerograph {

namespace steps {
#define ZG_DECLARE(CASE, FUNCTION) const StepKind &FUNCTION();
ZG_STEP_KINDS(ZG_DECLARE)
} // namespace steps

Effect StepKind::effect(const plan::Step &step, int access) const {
  plan::Mode mode = step.accesses(access).mode();
  return {mode != plan::WRITE, mode != plan::READ};
}

void StepKind::move(const plan::Plan &plan, const plan::Step &step, int access,
                    Effect effect, Checked bytes, Cost &cost) {
  const plan::Slice &slice = plan.slices(int(step.accesses(access).slice()));
  MovedBytes &memory =
      cost.memory[size_t(plan.arenas(int(slice.arena())).space())];
  memory.read = memory.read + (effect.reads ? bytes : 0);
  memory.written = memory.written + (effect.writes ? bytes : 0);
}

Cost StepKind::cost(const plan::Plan &plan, const plan::Step &step) const {
  Cost cost;
  for (int i = 0; i < step.accesses_size(); ++i) {
    move(plan, step, i, effect(step, i), step.accesses(i).bytes(), cost);
  }
  return cost;
}

namespace {

class Nothing final : public StepKind {
public:
  absl::string_view name() const override { return "nothing"; }
  absl::Status validate(const plan::Plan &, const plan::Step &) const override {
    return steps::invalid("does nothing that this program knows");
  }
  std::string wrongStream(const plan::Plan &, const plan::Step &,
                          plan::StreamKind) const override {
    return "";
  }
};

} // namespace

const StepKind &kindOf(const plan::Step &step) {
  switch (step.op_case()) {
#define ZG_CASE(CASE, FUNCTION)                                                \
  case plan::Step::k##CASE:                                                    \
    return steps::FUNCTION();
    ZG_STEP_KINDS(ZG_CASE)
  case plan::Step::OP_NOT_SET:
    break;
  }
  static const Nothing nothing;
  return nothing;
}

} // namespace zerograph
