//===- OriginTexts.h - what is said of the first values -------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_ORIGINTEXTS_H
#define ZEROGRAPH_RUNTIME_STATE_ORIGINTEXTS_H

#include "runtime/state/Origins.h"

namespace zerograph {

/// Says why a run cannot begin with these values; empty: it can. `loaded` is
/// the file of `load_weights`.
std::vector<std::string> problemsOf(const Origins &origins,
                                    const plan::Plan &plan,
                                    const InitializeOptions &options,
                                    const LoadedWeights &loaded);

/// Returns what is probably a mistake: the file of weights has names that are
/// none of the plan's, and lacks some that are. Empty: nothing.
std::string warningOn(const Origins &origins, const plan::Plan &plan,
                      const LoadedWeights &loaded);

/// Returns what the user should know where it can: files elsewhere, arrays that
/// are not read, parameters that keep their values or are made up.
std::vector<std::string> notesOn(const Origins &origins, const plan::Plan &plan,
                                 const InitializeOptions &options,
                                 const LoadedWeights &loaded);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_ORIGINTEXTS_H
