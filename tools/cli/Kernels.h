//===- Kernels.h - the kernels of a plan, listed --------------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_KERNELS_H
#define ZEROGRAPH_TOOLS_CLI_KERNELS_H

#include "runtime/plan/plan.pb.h"

#include <nlohmann/json.hpp>

#include <string>

namespace zerograph {

/// Returns each kernel with the first step that launches it, how many do, and
/// how: on CUDA grid, block and, where ptxas is found, registers and shared
/// memory; "assembler" says which, or why there is none.
nlohmann::ordered_json kernelsJson(const plan::Plan &plan);

/// Returns the same for people.
std::string kernelsText(const nlohmann::ordered_json &kernels);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_KERNELS_H
