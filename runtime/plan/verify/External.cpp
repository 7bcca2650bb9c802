//===- External.cpp - what the runtime itself reads and writes ------------===//

#include "runtime/plan/verify/External.h"

namespace zerograph::verify {

std::vector<bool> setByRuntime(const plan::Plan &plan, int program) {
  std::vector<bool> set(plan.slices_size());
  if (plan.programs(program).kind() != plan::UPDATE) {
    for (const plan::Input &input : plan.inputs()) {
      set[input.slice()] = true;
    }
  }
  for (const plan::Scalar &scalar : plan.scalars()) {
    set[scalar.slice()] = true;
  }
  return set;
}

std::vector<bool> readByRuntime(const plan::Plan &plan) {
  std::vector<bool> read(plan.slices_size());
  if (plan.dump_gradients()) {
    for (const plan::Unit &unit : plan.units()) {
      for (const plan::State &state : unit.states()) {
        if (state.role() == "grad") {
          read[state.slice()] = true;
        }
      }
    }
  }
  for (const plan::Output &output : plan.outputs()) {
    read[output.slice()] = true;
  }
  return read;
}

} // namespace zerograph::verify
