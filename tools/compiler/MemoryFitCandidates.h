//===- MemoryFitCandidates.h - what would need less memory ----------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_MEMORYFITCANDIDATES_H
#define ZEROGRAPH_TOOLS_COMPILER_MEMORYFITCANDIDATES_H

#include "tools/compiler/Compile.h"

#include "absl/functional/function_ref.h"

#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// Says whether the plan of such options needs no more than `--memory`. It is
/// asked of one after the other, since an answer takes most of a compilation.
using Fits = absl::FunctionRef<bool(const CompileOptions &)>;

/// Options with what they are changed in, as it is asked for: "--zero 3
/// --offload-optimizer cpu".
struct ChangedOptions {
  CompileOptions options;
  std::string change;
};

/// Returns whether `--recompute auto` or `--recompute BYTES` leaves it to the
/// compiler what is computed again.
bool choosesRecomputation(const CompileOptions &options);

/// For these: all that can be chosen, what costs least first. They do not
/// depend on the limit of the device, which each of them has. So the first that
/// fits needs no more time and no less memory if the limit is higher. Returns
/// an error where there is no limit.
absl::StatusOr<std::vector<ChangedOptions>>
recomputationCandidates(const CompileOptions &options);

/// For `--offload auto`: the options that offload least of those that fit. Of
/// the optimizer's states it may be one to three quarters, if nothing else is
/// offloaded.
std::optional<ChangedOptions> offloadToFit(const CompileOptions &options,
                                           Fits fits);

/// For a message: the cheapest change that fits, or that there is none. All
/// changes keep the bits.
std::string adviseToFit(const CompileOptions &options, Fits fits);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_MEMORYFITCANDIDATES_H
