//===- Optimizers.h - what each optimizer takes ---------------------------===//

#ifndef ZEROGRAPH_OPTIONS_OPTIMIZERS_H
#define ZEROGRAPH_OPTIONS_OPTIMIZERS_H

#include <string_view>

namespace zerograph::options {

/// The facts of one optimizer that everything that knows optimizers reads. How
/// it computes is passes/differentiate/Optimizer.cpp's.
struct Optimizer {
  std::string_view name;      // as `--optimizer` has it
  std::string_view deepspeed; // in DeepSpeed's files
  // The numbers that it takes.
  bool momentum = false, betas = false, eps = false;
  bool cycles = false; // a schedule may cycle its first beta
  std::string_view default_betas = "0.9,0.999";
  double default_eps = 1e-8, default_weight_decay = 0;
};

/// In the order of `--optimizer`'s values. Defaults are PyTorch's; lion's are
/// its authors' (Chen et al., 2023), lamb's DeepSpeed's.
inline constexpr Optimizer kOptimizers[] = {
    {"sgd", "SGD", true, false, false, false},
    {"adam", "Adam", false, true, true, true},
    {"adamw", "AdamW", false, true, true, true, "0.9,0.999", 1e-8, 0.01},
    {"lion", "Lion", false, true, false, false, "0.9,0.99"},
    {"adagrad", "Adagrad", false, false, true, false, "0.9,0.999", 1e-10},
    {"lamb", "Lamb", false, true, true, false},
};

/// Null where there is none of this name.
constexpr const Optimizer *findOptimizer(std::string_view name) {
  for (const Optimizer &optimizer : kOptimizers) {
    if (optimizer.name == name) {
      return &optimizer;
    }
  }
  return nullptr;
}

/// The one of this name, which a check of options has seen.
constexpr Optimizer optimizerOf(std::string_view name) {
  const Optimizer *found = findOptimizer(name);
  return found != nullptr ? *found : Optimizer{};
}

/// Returns whether an optimizer uses a number: lr, weight_decay, momentum, eps,
/// beta1, beta2.
constexpr bool uses(std::string_view optimizer, std::string_view number) {
  Optimizer one = optimizerOf(optimizer);
  bool betas = number == "beta1" || number == "beta2";
  return number == "momentum" ? one.momentum
         : number == "eps"    ? one.eps
                              : !betas || one.betas;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_OPTIMIZERS_H
