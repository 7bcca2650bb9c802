//===- OptimizerFlags.cpp - the options of the optimizer ------------------===//

#include "tools/cli/OptimizerFlags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "options/Groups.h"
#include "runtime/base/Status.h"
#include "tools/cli/Notes.h"

namespace zerograph {
namespace {

using options::Hyperparameters;
using options::Optimizer;

/// Returns what is wrong with the text of a group; empty: nothing. `values` are
/// those that it changes.
std::string wrongIn(const std::string &text, const Optimizer &optimizer,
                    Hyperparameters values) {
  options::Group group = options::parseGroup(text);
  if (!group.error.empty()) {
    return group.error;
  }
  if (absl::StrContains(text, ';')) {
    return "a pattern has no semicolon; give --group again";
  }
  for (const auto &[number, value] : group.numbers) {
    if (!optimizer.takes(number->number)) {
      return absl::StrCat(std::string(optimizer.name), " has no ",
                          std::string(number->name));
    }
    values.*number->number = value;
  }
  return options::faultsText(optimizer, values);
}

absl::Status checkGroups(const options::Compile &options,
                         const Optimizer &optimizer,
                         const Hyperparameters &values) {
  for (const std::string &text : options.group) {
    std::string error = wrongIn(text, optimizer, values);
    if (!error.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--group ", text, ": ", error));
    }
  }
  if (options.no_decay && values.weight_decay == 0) {
    warn(absl::StrCat("--no-decay has no effect: --optimizer ",
                      options.optimizer, " has no --weight-decay"));
  }
  return absl::OkStatus();
}

/// Refuses options that the optimizer does not take.
absl::Status
checkTaken(const options::Compile &options, const Optimizer &optimizer,
           absl::FunctionRef<bool(const std::string &option)> isGiven) {
  for (const options::Hyperparameter &one : options::kHyperparameters) {
    std::string option = "--" + std::string(one.option);
    if (isGiven(option) && !optimizer.takes(one.number)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " is for --optimizer ",
                       options::optimizersWhere([&](const Optimizer &other) {
                         return other.takes(one.number);
                       }),
                       "; ", options.optimizer, " does not use it"));
    }
  }
  return absl::OkStatus();
}

/// Returns what the command line has: "--betas 0.9,1", "--nesterov".
std::string given(const options::Hyperparameter &number,
                  const options::Compile &options,
                  const Hyperparameters &values) {
  return absl::StrCat("--", std::string(number.option),
                      number.number == &Hyperparameters::nesterov ? ""
                      : number.option == "betas"
                          ? absl::StrCat(" ", options.betas)
                          : absl::StrCat(" ", values.*number.number));
}

} // namespace

absl::Status checkOptimizerOptions(
    const options::Compile &options,
    absl::FunctionRef<bool(const std::string &option)> isGiven) {
  const Optimizer &optimizer = *options::findOptimizer(options.optimizer);
  ZG_RETURN_IF_ERROR(checkTaken(options, optimizer, isGiven));
  auto values = options::hyperparametersOf(optimizer, options);
  if (!values) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--betas ", options.betas, ": expected two numbers, as 0.9,0.999"));
  }
  // What is given says already "lr is -1, ".
  auto refuse = [](const std::string &given, absl::string_view name,
                   double value, absl::string_view fault) {
    absl::ConsumePrefix(
        &fault, absl::StrCat(name, " is ", options::numberText(value), ", "));
    return absl::InvalidArgumentError(absl::StrCat(given, ": ", fault));
  };
  if (auto faults = options::faultsOf(optimizer, *values); !faults.empty()) {
    const options::Hyperparameter &number = *faults[0].number;
    return refuse(given(number, options, *values),
                  number.option == "betas" ? "" : std::string(number.name),
                  (*values).*number.number, faults[0].text);
  }
  std::string fault =
      options::faultOf("clip_value", options.clip_value, options::kNotNegative);
  if (!fault.empty()) {
    return refuse(absl::StrCat("--clip-value ", options.clip_value),
                  "clip_value", options.clip_value, fault);
  }
  return checkGroups(options, optimizer, *values);
}

} // namespace zerograph
