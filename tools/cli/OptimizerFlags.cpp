//===- OptimizerFlags.cpp - the options of the optimizer ------------------===//

#include "tools/cli/OptimizerFlags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "options/Groups.h"
#include "runtime/base/Status.h"
#include "tools/cli/Notes.h"

#include <cmath>

namespace zerograph {
namespace {

using options::uses;

std::string wrongIn(const options::Compile &options, const std::string &text) {
  options::Group group = options::parseGroup(text);
  if (!group.error.empty()) {
    return group.error;
  }
  if (absl::StrContains(text, ';')) {
    return "a pattern has no semicolon; give --group again";
  }
  for (const auto &[name, value] : group.numbers) {
    if (!uses(options.optimizer, name)) {
      return absl::StrCat(options.optimizer, " has no ", name);
    }
    if (options.nesterov && name == "momentum" && value == 0) {
      return "--nesterov needs a momentum above 0";
    }
  }
  return "";
}

absl::Status checkGroups(const options::Compile &options) {
  for (const std::string &text : options.group) {
    std::string error = wrongIn(options, text);
    if (!error.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--group ", text, ": ", error));
    }
  }
  if (options.no_decay &&
      options::weightDecay(options.optimizer, options.weight_decay) == 0) {
    warn(absl::StrCat("--no-decay has no effect: --optimizer ",
                      options.optimizer, " has no --weight-decay"));
  }
  return absl::OkStatus();
}

absl::Status
checkLamb(const options::Compile &options,
          absl::FunctionRef<bool(const std::string &option)> isGiven) {
  bool lamb = options.optimizer == "lamb";
  for (const char *option : {"--lamb-min-coeff", "--lamb-max-coeff"}) {
    if (!lamb && isGiven(option)) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " is for --optimizer lamb; ", options.optimizer,
                       " does not use it"));
    }
  }
  if (lamb && options.lamb_min_coeff > options.lamb_max_coeff) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--lamb-min-coeff ", options.lamb_min_coeff,
        ": expected at most --lamb-max-coeff, ", options.lamb_max_coeff));
  }
  if (lamb && options.eps == 0) {
    return absl::InvalidArgumentError(
        "--eps 0: lamb needs one above 0, as 1e-8");
  }
  return absl::OkStatus();
}

} // namespace

absl::Status checkOptimizerOptions(
    const options::Compile &options,
    absl::FunctionRef<bool(const std::string &option)> isGiven) {
  const std::string &kind = options.optimizer;
  auto refuse = [&](const char *option, const char *users) {
    return absl::InvalidArgumentError(absl::StrCat(
        option, " is for ", users, "; ", kind, " does not use it"));
  };
  for (const char *option : {"--momentum", "--nesterov"}) {
    if (!uses(kind, "momentum") && isGiven(option)) {
      return refuse(option, "--optimizer sgd");
    }
  }
  if (isGiven("--betas") && !uses(kind, "beta1")) {
    return refuse("--betas", "adam, adamw, lamb and lion");
  }
  if (isGiven("--eps") && !uses(kind, "eps")) {
    return refuse("--eps", "adam, adamw, lamb and adagrad");
  }
  ZG_RETURN_IF_ERROR(checkLamb(options, isGiven));
  if (options.nesterov && options.momentum == 0) {
    return absl::InvalidArgumentError("--nesterov needs --momentum");
  }
  const std::pair<const char *, double> kNumbers[] = {
      {"--lr", options.lr},
      {"--momentum", options.momentum},
      {"--eps", options.eps},
      {"--weight-decay", options.weight_decay},
      {"--clip-value", options.clip_value}};
  for (auto [option, value] : kNumbers) {
    if (isGiven(option) && !(value >= 0 && std::isfinite(value))) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " ", value,
                       ": expected a finite number that is not negative"));
    }
  }
  if (!options::betas(kind, options.betas)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--betas ", options.betas,
                     ": expected two numbers in [0, 1), as 0.9,0.999"));
  }
  return checkGroups(options);
}

} // namespace zerograph
