//===- OtherNames.h - a weight that a file names otherwise ----------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_OTHERNAMES_H
#define ZEROGRAPH_RUNTIME_STATE_OTHERNAMES_H

#include "runtime/plan/plan.pb.h"
#include "runtime/state/LoadedWeights.h"

#include <string>
#include <vector>

namespace zerograph {

/// Where a file lacks a trained matrix of the plan, and one of that shape in it
/// has a name that the plan does not know: says so of both. A tied weight has
/// two names, and a file one of them; to go on would train the model's own
/// values. Nothing of shapes that several have, unless a map of names names
/// what the plan does not know; then also of other tensors than matrices.
std::vector<std::string> otherNames(const plan::Plan &plan,
                                    const LoadedWeights &loaded);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_OTHERNAMES_H
