//===- LossScaler.cpp - what float16's backward begins with ---------------===//

#include "runtime/exec/LossScaler.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace zerograph;

namespace {

constexpr double kFactor = 2;

} // namespace

LossScaler::LossScaler(const plan::Plan &plan) {
  if (plan.has_loss_scale()) {
    options = plan.loss_scale();
    current = options.initial();
    hysteresis = options.hysteresis();
  }
}

std::optional<SavedLossScale> LossScaler::state() const {
  if (options.window() == 0) {
    return std::nullopt; // no scale, or one that is fixed
  }
  return SavedLossScale{current, steps, last_overflow, hysteresis};
}

void LossScaler::restore(const SavedLossScale &state) {
  if (options.window() == 0) {
    return;
  }
  current = state.scale;
  steps = state.steps;
  last_overflow = state.last_overflow;
  // The run that saved it may have had another hysteresis, or a scale that is
  // fixed.
  hysteresis = std::clamp(state.hysteresis, 1u, options.hysteresis());
}

absl::Status LossScaler::update(bool overflow) {
  int64_t step = steps++;
  if (options.window() == 0) {
    return absl::OkStatus();
  }
  if (overflow) {
    last_overflow = step;
    if (options.hysteresis() != 1 && hysteresis != 1) {
      --hysteresis;
      return absl::OkStatus();
    }
    if (current == options.minimum()) {
      return absl::OutOfRangeError(absl::StrCat(
          "gradients are not finite at the least loss scale, ", current,
          ": lower --lr, or train with --precision bf16; if the loss is NaN "
          "too, --debug-nonfinite names where it comes from"));
    }
    current = std::max(current / kFactor, options.minimum());
    return absl::OkStatus();
  }
  // The steps without overflow before this one.
  int64_t stable = step - last_overflow - 1;
  bool full = stable > 0 && stable % int64_t(options.window()) == 0;
  if (full || options.consecutive_hysteresis()) {
    hysteresis = options.hysteresis();
  }
  if (full) {
    current *= kFactor;
  }
  return absl::OkStatus();
}
