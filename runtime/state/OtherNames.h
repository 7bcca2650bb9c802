//===- OtherNames.h - a weight that a file names otherwise ----------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_OTHERNAMES_H
#define ZEROGRAPH_RUNTIME_STATE_OTHERNAMES_H

#include "runtime/plan/plan.pb.h"
#include "runtime/state/LoadedWeights.h"

#include <string>
#include <vector>

namespace zerograph {

/// Returns texts that name a trained matrix of the plan that a file lacks, and
/// one of that shape in the file whose name the plan does not know. A tied
/// weight has two names, and a file one of them; to go on would train the
/// model's own values. Says nothing of shapes that several have, unless a map
/// of names names what the plan does not know; then also of other tensors than
/// matrices.
std::vector<std::string> otherNames(const plan::Plan &plan,
                                    const LoadedWeights &loaded);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_OTHERNAMES_H
