//===- Fold.h - the one order in which contributions are added ------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_FOLD_H
#define ZEROGRAPH_RUNTIME_COMM_FOLD_H

#include "runtime/plan/plan.pb.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>

namespace zerograph {

/// Sets accumulator <- ((accumulator + c[0]) + c[1]) + ... for `elements`
/// elements of type `type`, from +0.0 unless `accumulate`, with contributions
/// of type `wire`: types that needReducible takes. The accumulator is no
/// contribution.
void foldContributions(plan::ElementType wire, plan::ElementType type,
                       std::byte *accumulator, bool accumulate,
                       absl::Span<const std::byte *const> contributions,
                       uint64_t elements);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_FOLD_H
