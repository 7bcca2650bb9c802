//===- LossScale.h - options as a plan's loss scale -----------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_LOSSSCALE_H
#define ZEROGRAPH_TOOLS_COMPILER_LOSSSCALE_H

#include "options/Options.h"
#include "runtime/plan/plan.pb.h"

#include <cmath>
#include <optional>

namespace zerograph {

/// None unless the precision needs one.
inline std::optional<plan::LossScale>
lossScaleOf(const options::Compile &options) {
  if (options.precision != "fp16") {
    return std::nullopt;
  }
  plan::LossScale scale;
  scale.set_initial(options.loss_scale);
  if (options.loss_scale == 0) {
    scale.set_initial(std::ldexp(1.0, int(options.initial_scale_power)));
    scale.set_window(uint64_t(options.loss_scale_window));
    scale.set_hysteresis(uint32_t(options.loss_scale_hysteresis));
    scale.set_consecutive_hysteresis(options.consecutive_hysteresis);
    scale.set_minimum(options.min_loss_scale);
  }
  return scale;
}

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_LOSSSCALE_H
