//===- External.h - what the runtime itself reads and writes --------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_EXTERNAL_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_EXTERNAL_H

#include "runtime/plan/plan.pb.h"

#include <vector>

namespace zerograph::verify {

/// The scalar by which the runtime says that this rank was asked to stop; the
/// only one that ranks may set differently.
inline constexpr char kStopScalar[] = "stop";

/// By slice: written by the runtime before `program` starts. Inputs before
/// the program of a micro-batch, scalars before every program.
std::vector<bool> setByRuntime(const plan::Plan &plan, int program);

/// By slice: read by the runtime when a program has ended, where that keeps
/// it alive: gradients that are dumped, and outputs.
std::vector<bool> readByRuntime(const plan::Plan &plan);

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_EXTERNAL_H
