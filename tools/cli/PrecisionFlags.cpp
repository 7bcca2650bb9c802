//===- PrecisionFlags.cpp - the options of the precision ------------------===//

#include "tools/cli/PrecisionFlags.h"

#include "absl/strings/str_cat.h"

namespace zerograph {

absl::Status checkPrecisionOptions(
    const options::Compile &options,
    absl::FunctionRef<bool(const std::string &option)> isGiven) {
  const std::string &precision = options.precision;
  // The precision is then the model's own, if it has 16 bits.
  bool given_none = !isGiven("--precision");
  if (options.reduce_precision != "fp32") {
    std::string given =
        absl::StrCat("--reduce-precision ", options.reduce_precision);
    if (options.reduction == "nccl") {
      return absl::UnimplementedError(absl::StrCat(
          given, " is added up in float32, and NCCL would add up in ",
          options.reduce_precision, ": give --reduction exact"));
    }
  }
  if (options.master_precision == "bf16" && precision != "bf16") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--master-precision bf16 is for --precision bf16",
        precision == "fp16" ? "; with fp16 an update needs masters of float32"
        : given_none        ? ", which is not given"
                            : "; with fp32 there are no masters"));
  }
  for (const char *option : {"--loss-scale", "--initial-scale-power",
                             "--loss-scale-window", "--loss-scale-hysteresis",
                             "--consecutive-hysteresis", "--min-loss-scale"}) {
    if (!isGiven(option)) {
      continue;
    }
    if (precision != "fp16") {
      return absl::InvalidArgumentError(absl::StrCat(
          option, " is for --precision fp16",
          given_none ? ", which is not given"
                     : "; " + precision + " does not scale the loss"));
    }
    if (options.loss_scale != 0 && option != std::string("--loss-scale")) {
      return absl::InvalidArgumentError(
          absl::StrCat(option, " is for a dynamic loss scale; --loss-scale ",
                       options.loss_scale, " never changes"));
    }
  }
  return absl::OkStatus();
}

} // namespace zerograph
