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

/// Returns `options` with the budget of `--recompute BYTES` as the limit of the
/// device's memory, if `--memory` sets no lower one, and `--recompute auto`.
/// Returns an error where `auto` has no limit, or a ratio is given as well.
absl::StatusOr<CompileOptions> withBudget(const CompileOptions &options);

/// Returns all that `--recompute auto` can choose, what costs least first. The
/// list does not depend on the limit. So the first that fits computes no more
/// again, and needs no less memory, if the limit is higher. The last needs
/// least, or nearly so.
std::vector<ChangedOptions>
recomputationCandidates(const CompileOptions &options);

/// Returns the option that limits memory, for messages: "--memory 80GiB".
std::string limitOf(const CompileOptions &options);

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
