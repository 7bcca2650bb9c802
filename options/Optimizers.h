//===- Optimizers.h - the table of optimizers -----------------------------===//
//
// Declares each optimizer once. The command line, the translation of
// DeepSpeed's files, the passes, and the check and the report of plans read
// this table. An optimizer's formula is a function in
// passes/differentiate/Optimizer.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_OPTIMIZERS_H
#define ZEROGRAPH_OPTIONS_OPTIMIZERS_H

#include "options/Hyperparameters.h"
#include "options/Names.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace zerograph::options {

/// The scalars that formulas read. The runtime computes each anew for every
/// update and group of parameters, in double, and rounds it once to f32 or f64:
/// runtime/exec/Scalars.cpp. `lr` is the rate of the update and `beta1` its
/// beta, as the schedule has them; `update` counts updates, from 1.
enum class Scalar {
  none,
  learning_rate,         // lr
  step_size,             // lr / (1 - beta1^update)
  bias_correction2_sqrt, // sqrt(1 - beta2^update)
  decay,                 // 1 - lr * weight_decay
  one_minus_beta1,       // 1 - beta1, where a schedule cycles beta1
};

/// The name of a scalar in the IR and, in capitals, in runtime/plan/plan.proto.
struct ScalarName {
  Scalar scalar;
  std::string_view name;
};
inline constexpr ScalarName kScalarNames[] = {
    {Scalar::learning_rate, "learning_rate"},
    {Scalar::step_size, "step_size"},
    {Scalar::bias_correction2_sqrt, "bias_correction2_sqrt"},
    {Scalar::decay, "decay"},
    {Scalar::one_minus_beta1, "one_minus_beta1"},
};

constexpr std::string_view nameOf(Scalar scalar) {
  for (const ScalarName &row : kScalarNames) {
    if (row.scalar == scalar) {
      return row.name;
    }
  }
  return "none";
}

inline constexpr double kUnset = std::numeric_limits<double>::quiet_NaN();

/// A number as one optimizer takes it.
struct TakenNumber {
  Number number = nullptr;
  /// The default; unset: that of the option, the same for every optimizer.
  double value = kUnset;
  /// DeepSpeed's default, which a note names where a file leaves the number
  /// out; unset: the same as ours.
  double deepspeed = kUnset;
  /// The legal values; null: those in `kHyperparameters`.
  const Range *range = nullptr;
};

/// One value for each element of a parameter, 0 at first.
struct OptimizerState {
  std::string_view name;
  /// Kept only where this number is not 0; null: always.
  Number unless_zero = nullptr;
};

/// Arrays that a row does not fill end with empty entries.
struct Optimizer {
  std::string_view name; // of `--optimizer`
  /// Its type in DeepSpeed's files. One that DeepSpeed has not is looked up
  /// there in torch.optim, so it must mean the same.
  std::string_view deepspeed;
  TakenNumber numbers[7];
  OptimizerState states[2]; // in the order in which the formula takes them
  Scalar scalars[4];        // all that the formula can read

  /// Returns null where the optimizer does not take the number.
  constexpr const TakenNumber *find(Number number) const {
    for (const TakenNumber &taken : numbers) {
      if (taken.number == number) {
        return &taken;
      }
    }
    return nullptr;
  }
  constexpr bool takes(Number number) const { return find(number) != nullptr; }
  constexpr bool reads(Scalar scalar) const {
    for (Scalar one : scalars) {
      if (one == scalar) {
        return true;
      }
    }
    return false;
  }
  /// Returns whether a schedule can cycle its first beta.
  constexpr bool cycles() const { return reads(Scalar::one_minus_beta1); }
};

/// In the order of `--optimizer`'s values. Defaults are PyTorch's; lion's are
/// its authors' (Chen et al., 2023), lamb's DeepSpeed's.
inline constexpr Optimizer kOptimizers[] = {
    {"sgd",
     "SGD",
     {{&Hyperparameters::lr},
      {&Hyperparameters::momentum},
      {&Hyperparameters::nesterov},
      {&Hyperparameters::weight_decay, 0}},
     {{"momentum_buffer", &Hyperparameters::momentum}},
     {Scalar::learning_rate}},
    {"adam",
     "Adam",
     {{&Hyperparameters::lr},
      {&Hyperparameters::beta1, 0.9},
      {&Hyperparameters::beta2, 0.999},
      {&Hyperparameters::eps, 1e-8},
      {&Hyperparameters::weight_decay, 0}},
     {{"exp_avg"}, {"exp_avg_sq"}},
     {Scalar::step_size, Scalar::bias_correction2_sqrt,
      Scalar::one_minus_beta1}},
    {"adamw",
     "AdamW",
     {{&Hyperparameters::lr},
      {&Hyperparameters::beta1, 0.9},
      {&Hyperparameters::beta2, 0.999},
      {&Hyperparameters::eps, 1e-8},
      {&Hyperparameters::weight_decay, 0.01, /*deepspeed=*/0}},
     {{"exp_avg"}, {"exp_avg_sq"}},
     {Scalar::step_size, Scalar::bias_correction2_sqrt, Scalar::decay,
      Scalar::one_minus_beta1}},
    {"lion",
     "Lion",
     {{&Hyperparameters::lr},
      {&Hyperparameters::beta1, 0.9, /*deepspeed=*/0.9},
      {&Hyperparameters::beta2, 0.99, /*deepspeed=*/0.99},
      {&Hyperparameters::weight_decay, 0, /*deepspeed=*/0}},
     {{"exp_avg"}},
     {Scalar::learning_rate, Scalar::decay}},
    {"adagrad",
     "Adagrad",
     {{&Hyperparameters::lr, kUnset, /*deepspeed=*/0.01},
      {&Hyperparameters::eps, 1e-10, /*deepspeed=*/1e-10},
      {&Hyperparameters::weight_decay, 0}},
     {{"sum"}},
     {Scalar::learning_rate}},
    // The elements between parameters must not become 0 / 0: eps is above 0.
    {"lamb",
     "Lamb",
     {{&Hyperparameters::lr},
      {&Hyperparameters::beta1, 0.9},
      {&Hyperparameters::beta2, 0.999},
      {&Hyperparameters::eps, 1e-8, kUnset, &kPositive},
      {&Hyperparameters::weight_decay, 0},
      {&Hyperparameters::lamb_min_coeff},
      {&Hyperparameters::lamb_max_coeff}},
     {{"exp_avg"}, {"exp_avg_sq"}},
     {Scalar::step_size, Scalar::bias_correction2_sqrt}},
};

constexpr const Optimizer *findOptimizer(std::string_view name) {
  return findRow(kOptimizers, name);
}

/// Returns false also where there is no optimizer of this name.
constexpr bool takes(std::string_view optimizer, Number number) {
  const Optimizer *found = findOptimizer(optimizer);
  return found != nullptr && found->takes(number);
}

/// Returns "adam, adamw and lamb": the optimizers for which `holds` is true.
template <typename Holds>
std::string optimizersWhere(const Holds &holds) {
  std::vector<std::string> names;
  for (const Optimizer &optimizer : kOptimizers) {
    if (holds(optimizer)) {
      names.emplace_back(optimizer.name);
    }
  }
  return listed(names);
}

inline std::string numberText(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

/// Returns "lr is -1, expected a finite number that is not negative"; empty
/// where the value is legal.
inline std::string faultOf(std::string_view name, double value,
                           const Range &range) {
  return range.has(value) ? ""
                          : std::string(name) + " is " + numberText(value) +
                                ", expected " + std::string(range.text);
}

/// A value that an optimizer cannot have.
struct Fault {
  const Hyperparameter *number;
  std::string text;
};

/// Returns all that is wrong with an optimizer's numbers.
inline std::vector<Fault> faultsOf(const Optimizer &optimizer,
                                   const Hyperparameters &values) {
  std::vector<Fault> faults;
  for (const Hyperparameter &one : kHyperparameters) {
    const TakenNumber *taken = optimizer.find(one.number);
    if (taken == nullptr) {
      continue;
    }
    const Range &range = taken->range != nullptr ? *taken->range : one.range;
    std::string text = faultOf(one.name, values.*one.number, range);
    if (text.empty() && one.number == &Hyperparameters::nesterov &&
        values.nesterov != 0 && values.momentum == 0) {
      text = "nesterov needs a momentum above 0";
    }
    if (text.empty() && one.number == &Hyperparameters::lamb_min_coeff &&
        values.lamb_min_coeff > values.lamb_max_coeff) {
      text = "lamb_min_coeff is " + numberText(values.lamb_min_coeff) +
             ", expected at most lamb_max_coeff, " +
             numberText(values.lamb_max_coeff);
    }
    if (!text.empty()) {
      faults.push_back({&one, text});
    }
  }
  return faults;
}

/// Returns them as one text; empty where all values are legal.
inline std::string faultsText(const Optimizer &optimizer,
                              const Hyperparameters &values) {
  std::string all;
  for (const Fault &fault : faultsOf(optimizer, values)) {
    all += (all.empty() ? "" : "; ") + fault.text;
  }
  return all;
}

/// Returns the value that an optimizer gives an option, as text: "0.9,0.999".
/// `which` is TakenNumber's `value` or `deepspeed`. Empty where it gives none.
inline std::string valueText(const Optimizer &optimizer,
                             std::string_view option,
                             double TakenNumber::*which = &TakenNumber::value) {
  std::string text;
  for (const Hyperparameter &one : kHyperparameters) {
    const TakenNumber *taken = optimizer.find(one.number);
    if (one.option == option && taken != nullptr &&
        !std::isnan(taken->*which)) {
      text += (text.empty() ? "" : ",") + numberText(taken->*which);
    }
  }
  return text;
}

/// Returns an option's defaults, for its help: "1e-08 of adam and adamw; 1e-10
/// of adagrad". Empty where they do not depend on the optimizer.
inline std::string defaultsText(std::string_view option) {
  std::string all;
  std::vector<std::string> seen;
  for (const Optimizer &first : kOptimizers) {
    std::string text = valueText(first, option);
    if (text.empty() || std::ranges::find(seen, text) != seen.end()) {
      continue;
    }
    seen.push_back(text);
    all += (all.empty() ? "" : "; ") + text + " of " +
           optimizersWhere([&](const Optimizer &optimizer) {
             return valueText(optimizer, option) == text;
           });
  }
  return all;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_OPTIMIZERS_H
