//===- InitializedWeights.h - values that no file holds -------------------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_INITIALIZEDWEIGHTS_H
#define ZEROGRAPH_RUNTIME_STATE_INITIALIZEDWEIGHTS_H

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace zerograph {

/// The deviation in "normal:0.02", as `--init-missing` takes it.
absl::StatusOr<double> parseInitMissing(const std::string &text);

/// How values are made up.
struct InitializedWeights {
  /// The deviation of normal numbers; unused where values begin otherwise.
  double deviation = 0;
  uint64_t seed = 0;

  /// Writes elements [first, first + count) of a parameter, as its `init`
  /// says, in F32 or F64. They are the same whoever makes them.
  void write(const plan::Parameter &parameter, plan::ElementType type,
             uint64_t first, uint64_t count, std::byte *to) const;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_INITIALIZEDWEIGHTS_H
