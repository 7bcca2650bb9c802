//===- Traffic.cpp - predicted and planned traffic ------------------------===//

#include "runtime/plan/Traffic.h"

#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {

void checkTraffic(const Subject &subject, Problems &problems) {
  Traffic traffic = trafficOf(subject.plan);
  const plan::Prediction &stated = subject.plan.prediction();
  auto compare = [&](absl::string_view name, Checked sum, uint64_t predicted) {
    if (!sum.value()) {
      problems.add("wrong prediction: the ", name,
                   " traffic of a step exceeds 64 bits");
    } else if (*sum.value() != predicted) {
      problems.add("wrong prediction: the plan states ", predicted,
                   " bytes of ", name,
                   " traffic a step and its collectives "
                   "make ",
                   *sum.value());
    }
  };
  compare("gather", traffic.gather, stated.gather_bytes());
  compare("reduce", traffic.reduce, stated.reduce_bytes());
  compare("scalar", traffic.scalar, stated.scalar_bytes());
}

} // namespace zerograph::verify
