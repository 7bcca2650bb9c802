//===- TheoreticalTraffic.h - planned traffic beside ZeRO's formulas ------===//
//
// With Psi bytes of trainable parameters on N ranks and K micro-batches a
// step, a rank receives Psi * (N - 1) / N bytes each time they are gathered or
// reduced: K reductions, and 1 gather or, where parameters are sharded, 2 K.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_THEORETICALTRAFFIC_H
#define ZEROGRAPH_RUNTIME_PLAN_THEORETICALTRAFFIC_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph {

/// One reason why the plan moves more or fewer bytes than the formula.
struct Difference {
  std::string reason;
  int64_t bytes = 0; // more than the formula; negative: fewer
};

struct TheoreticalTraffic {
  std::string formula;  // "3 Psi (N - 1) / N"
  uint64_t psi = 0;     // bytes of trainable parameters, without padding
  uint64_t bytes = 0;   // what the formula gives
  uint64_t planned = 0; // gathers, reductions and scalars
  /// Add up to planned - bytes, exactly.
  std::vector<Difference> differences;
};

/// The plan must be valid, and its traffic fit in 63 bits.
TheoreticalTraffic compareWithTextbook(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_THEORETICALTRAFFIC_H
