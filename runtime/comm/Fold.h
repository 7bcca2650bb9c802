//===- Fold.h - the one order in which contributions are added ------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_FOLD_H
#define ZEROGRAPH_RUNTIME_COMM_FOLD_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>

namespace zerograph {

/// F32 and F64 can be added up.
absl::Status checkFoldType(plan::ElementType type);

/// accumulator <- ((accumulator + c[0]) + c[1]) + ... elementwise over `bytes`
/// bytes, from +0.0 unless `accumulate`. The accumulator is no contribution.
void foldContributions(plan::ElementType type, std::byte *accumulator,
                       bool accumulate,
                       absl::Span<const std::byte *const> contributions,
                       uint64_t bytes);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_FOLD_H
