//===- External.h - what the runtime itself reads -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_EXTERNAL_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_EXTERNAL_H

#include "runtime/plan/plan.pb.h"

#include <vector>

namespace zerograph::verify {

/// By slice: read by the runtime when a program has ended, where that keeps
/// it alive: gradients that are dumped, and outputs.
std::vector<bool> readByRuntime(const plan::Plan &plan);

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_EXTERNAL_H
