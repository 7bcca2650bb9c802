//===- OffloadFlags.cpp - the options of what lies elsewhere --------------===//

#include "tools/cli/OffloadFlags.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/Status.h"
#include "tools/cli/Notes.h"

namespace zerograph {
namespace {

absl::Status checkOffloadOfGradients(const options::Compile &options) {
  const std::string &place = options.offload_gradients;
  if (place == "none") {
    return absl::OkStatus();
  }
  if (options.offload_optimizer == "none") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--offload-gradients ", place,
        " without --offload-optimizer is not built: sums of "
        "gradients lie where parameters are updated; give "
        "--offload-optimizer ",
        place, " too", options.accumulate > 1 ? "" : ", and --accumulate"));
  }
  if (options.reduce == "last") {
    return absl::InvalidArgumentError(
        absl::StrCat("--offload-gradients ", place,
                     " with --reduce last is not built: each rank adds whole "
                     "gradients up where it computes them; leave one out"));
  }
  if (options.offload_ratio < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--offload-gradients ", place,
                     " with --offload-ratio is not built: sums of all units "
                     "lie in one place; leave one out"));
  }
  if (options.accumulate == 1) {
    warn("--offload-gradients has no effect with --accumulate 1: nothing is "
         "kept from one micro-batch to the next");
  }
  return absl::OkStatus();
}

absl::Status checkOffloadOfParameters(const options::Compile &options) {
  if (options.offload_param == "none") {
    return absl::OkStatus();
  }
  if (options.zero_stage < 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--offload-param ", options.offload_param, " with --zero ",
        options.zero_stage,
        ": every rank computes with whole parameters, which stay on its "
        "device; give --zero 3, which gathers them for each use"));
  }
  if (options.offload_optimizer == "none") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--offload-param ", options.offload_param,
        " without --offload-optimizer is not built: who keeps parameters "
        "updates them; give --offload-optimizer ",
        options.offload_param, " too"));
  }
  return absl::OkStatus();
}

} // namespace

absl::Status checkOffloadOptions(const options::Compile &options) {
  bool chosen =
      options.offload_optimizer != "none" || options.offload_param != "none" ||
      options.offload_gradients != "none" || options.offload_ratio < 1;
  if (options.offload == "auto" && (chosen || options.memory.empty())) {
    return absl::InvalidArgumentError(
        chosen ? "--offload auto chooses what is offloaded: leave out the "
                 "options --offload-..., or it"
               : "--offload auto offloads what does not fit into --memory: "
                 "give that too, as --memory device=80GiB");
  }
  if (options.offload_ratio < 1 && (options.offload_optimizer == "none" ||
                                    options.offload_param != "none")) {
    return absl::InvalidArgumentError(
        options.offload_optimizer == "none"
            ? "--offload-ratio has no effect without --offload-optimizer"
            : "--offload-ratio with --offload-param: who keeps parameters "
              "updates them; leave one out");
  }
  ZG_RETURN_IF_ERROR(checkOffloadOfGradients(options));
  return checkOffloadOfParameters(options);
}

std::string offloadInFiles(const options::Compile &options) {
  bool sums = options.offload_gradients != "none" && options.accumulate > 1;
  // Plain SGD keeps nothing but masters, if sums of gradients are offloaded.
  bool states = options.optimizer != "sgd" || options.momentum > 0 || sums;
  bool all = options.offload_ratio == 1; // of them, so some
  return options.offload_optimizer == "nvme" && states && all
             ? "--offload-optimizer"
         : options.offload_param == "nvme" && options.persistence_threshold == 0
             ? "--offload-param"
         : options.offload_gradients == "nvme" && sums ? "--offload-gradients"
                                                       : "";
}

} // namespace zerograph
