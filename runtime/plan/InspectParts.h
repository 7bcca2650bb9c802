//===- InspectParts.h - parts of a report that have files of their own ----===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_INSPECTPARTS_H
#define ZEROGRAPH_RUNTIME_PLAN_INSPECTPARTS_H

#include "runtime/plan/Cost.h"
#include "runtime/plan/PlanFile.h"

#include <nlohmann/json.hpp>

namespace zerograph {

/// Reports what a plan was compiled with: model, target, ranks, optimizer,
/// schedule, inputs.
nlohmann::ordered_json settingsJson(const LoadedPlan &loaded);

/// How the option `--reduction` has it.
const char *reductionOf(const plan::Plan &plan);

/// How gradients travel, as the option `--reduce-precision` has it; those of
/// float64 stay what they are.
std::string reducePrecisionOf(const plan::Plan &plan);

/// The types of a valid plan: which states it has in which type; how many
/// products and convolutions by the library, of the programs of a step, take
/// and give which types; and in which types forward leaves what backward reads,
/// in bytes (which need not all live at once), by the name of what made it,
/// numbers left out.
nlohmann::ordered_json precisionJson(const plan::Plan &plan);

/// "h.*.conv2d" of "h.3.conv2d_12_ #1": equal for what repeats in a model.
std::string withoutNumbers(const std::string &name);

/// Reports bytes read and written in all memories but the file, operations, and
/// launches.
nlohmann::ordered_json costJson(const Cost &cost);

/// Reports what a training step of a valid plan costs: in all; by memory, by
/// the type of operations, by kind of step, and by the name of the node,
/// numbers left out. The kind and the node that move most stand first.
nlohmann::ordered_json costsJson(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_INSPECTPARTS_H
