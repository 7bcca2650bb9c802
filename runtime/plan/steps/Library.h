//===- Library.h - calls of the device's library --------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_STEPS_LIBRARY_H
#define ZEROGRAPH_RUNTIME_PLAN_STEPS_LIBRARY_H

#include "runtime/plan/steps/Checks.h"
#include "runtime/plan/steps/Step.h"

namespace zerograph {

/// Two operands and a result of one type and, as a fourth access, scratch.
class LibraryStep : public StepKind {
public:
  Effect effect(const plan::Step &step, int access) const override {
    return access == kScratch ? Effect{false, true}
                              : StepKind::effect(step, access);
  }
  plan::ElementType type(const plan::Plan &, const plan::Step &step,
                         int access) const override {
    return access == kScratch ? plan::ELEMENT_INVALID : elementType(step);
  }
  std::string wrongStream(const plan::Plan &, const plan::Step &,
                          plan::StreamKind stream) const override {
    return steps::unlessComputes(stream);
  }

private:
  static constexpr int kScratch = 3;
  virtual plan::ElementType elementType(const plan::Step &step) const = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_STEPS_LIBRARY_H
