//===- Hyperparameters.h - the numbers that optimizers take ---------------===//

#ifndef ZEROGRAPH_OPTIONS_HYPERPARAMETERS_H
#define ZEROGRAPH_OPTIONS_HYPERPARAMETERS_H

#include <limits>
#include <string_view>

namespace zerograph::options {

/// The values of one optimizer's numbers. Those that it does not take are 0.
struct Hyperparameters {
  double lr = 0;
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  double weight_decay = 0;
  double momentum = 0;
  double nesterov = 0; // 0 or 1
  double lamb_min_coeff = 0;
  double lamb_max_coeff = 0;
};

/// Names one of them.
using Number = double Hyperparameters::*;

/// Values that are legal.
struct Range {
  std::string_view text; // after "expected"
  bool (*has)(double value);
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr Range kNotNegative = {
    "a finite number that is not negative",
    [](double value) { return value >= 0 && value < kInfinity; }};
inline constexpr Range kPositive = {
    "a finite number above 0",
    [](double value) { return value > 0 && value < kInfinity; }};
inline constexpr Range kPositiveOrInfinite = {
    "a number above 0", [](double value) { return value > 0; }};
inline constexpr Range kBelowOne = {"at least 0 and below 1", [](double value) {
                                      return value >= 0 && value < 1;
                                    }};
inline constexpr Range kFlag = {
    "0 or 1", [](double value) { return value == 0 || value == 1; }};

/// The facts of a number that do not depend on the optimizer.
struct Hyperparameter {
  Number number;
  std::string_view name;   // in the IR and in messages
  std::string_view option; // without dashes; one can set two numbers
  std::string_view key;    // in DeepSpeed's `optimizer.params`, in `--group`
  Range range;
  bool by_group; // `--group` can set it
};

/// In the order in which messages list them.
inline constexpr Hyperparameter kHyperparameters[] = {
    {&Hyperparameters::lr, "lr", "lr", "lr", kNotNegative, true},
    {&Hyperparameters::beta1, "beta1", "betas", "betas", kBelowOne, true},
    {&Hyperparameters::beta2, "beta2", "betas", "betas", kBelowOne, true},
    {&Hyperparameters::eps, "eps", "eps", "eps", kNotNegative, true},
    {&Hyperparameters::weight_decay, "weight_decay", "weight-decay",
     "weight_decay", kNotNegative, true},
    {&Hyperparameters::momentum, "momentum", "momentum", "momentum",
     kNotNegative, true},
    {&Hyperparameters::nesterov, "nesterov", "nesterov", "nesterov", kFlag,
     false},
    {&Hyperparameters::lamb_min_coeff, "lamb_min_coeff", "lamb-min-coeff",
     "min_coeff", kNotNegative, false},
    {&Hyperparameters::lamb_max_coeff, "lamb_max_coeff", "lamb-max-coeff",
     "max_coeff", kPositiveOrInfinite, false},
};

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_HYPERPARAMETERS_H
