//===- Offloads.h - where states and parameters lie -----------------------===//

#ifndef ZEROGRAPH_TESTS_E2E_OFFLOADS_H
#define ZEROGRAPH_TESTS_E2E_OFFLOADS_H

#include "tests/e2e/Harness.h"

#include "absl/strings/str_cat.h"

#include <string_view>
#include <vector>

namespace zerograph::testing {

/// The places of the optimizer's states, the parameters and the sums of
/// gradients.
struct Offloads {
  std::string_view optimizer, param, gradients = "none";

  std::string describe() const {
    return absl::StrCat("optimizer on ", std::string(optimizer),
                        ", parameters on ", std::string(param),
                        ", sums of gradients on ", std::string(gradients));
  }
};

inline constexpr Offloads kOptimizer = {"cpu", "none"},
                          kParameters = {"cpu", "cpu"},
                          kFile = {"nvme", "none"},
                          kFileAndParameters = {"nvme", "cpu"},
                          kAllInFile = {"nvme", "nvme"},
                          kParametersInFile = {"cpu", "nvme"};

/// All that a stage can have: parameters are offloaded with stage 3 alone.
inline std::vector<Offloads> offloadsOf(int64_t stage) {
  if (stage < 3) {
    return {kOptimizer, kFile};
  }
  return {kOptimizer,         kParameters, kFile,
          kFileAndParameters, kAllInFile,  kParametersInFile};
}

inline Training offloaded(Training training, Offloads what = kOptimizer) {
  auto before = training.also;
  training.also = [=](CompileOptions &options) {
    if (before) {
      before(options);
    }
    options.offload_optimizer = what.optimizer;
    options.offload_param = what.param;
    options.offload_gradients = what.gradients;
  };
  return training;
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_OFFLOADS_H
