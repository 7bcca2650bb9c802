//===- External.cpp - what the runtime itself reads -----------------------===//

#include "runtime/plan/verify/External.h"

namespace zerograph::verify {

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
