//===- OffloadKept.h - activations on the host until backward -------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_OFFLOADKEPT_H
#define ZEROGRAPH_PASSES_ZERO_OFFLOADKEPT_H

#include "passes/zero/ForwardRegions.h"

namespace mlir::zg::zero {

/// Moves what goes from one region to the next to the host until backward needs
/// it, except what the last region reads, whose backward pass follows at once.
/// It comes back while backward works on the region after. Call this after the
/// ops were inserted that compute again: they read what comes back too.
void offloadKept(const ForwardRegions &regions, const UnitStates &states);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_OFFLOADKEPT_H
