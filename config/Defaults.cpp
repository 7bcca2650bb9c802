//===- Defaults.cpp - what holds where a file says nothing ----------------===//

#include "config/Converters.h"
#include "config/Translation.h"
#include "config/Write.h"

#include <algorithm>

namespace zerograph::config {

/// Null is as good as nothing.
bool Translation::isMissing(absl::string_view path) const {
  const ConfigEntry *found = find(path);
  return found == nullptr || found->value.isNull();
}

/// Sets an option that no key sets; what the command line gives stays.
void Translation::setDefault(const char *option, const char *value,
                             const char *whose) {
  if (!given(option)) {
    config.settings.push_back({option, value, whose, /*by_default=*/true});
  }
}

/// Adds what DeepSpeed does where a key is missing, and people are surprised
/// by.
void Translation::addDeepSpeedDefaults() {
  if (isMissing("gradient_clipping") && !given("clip-norm")) {
    setDefault("clip-norm", "1", "DeepSpeed's default");
    note("'gradient_clipping' is missing: gradients are clipped at 1.0, as by "
         "DeepSpeed since 2026; \"gradient_clipping\": 0 is no clipping");
  }
  constexpr char kChecks[] = "bf16.check_grad_overflow";
  if (precision() == "bf16" && (isMissing(kChecks) || isAuto(kChecks)) &&
      !given("skip-nonfinite")) {
    setDefault("skip-nonfinite", "true", "DeepSpeed's default");
    note(
        "'bf16.check_grad_overflow' is missing: a step whose gradients are not "
        "all finite updates nothing, as by DeepSpeed; false updates always");
  }
  addOffloadOfGradients();
  sayReducePrecision();
}

/// DeepSpeed lets the host add gradients up where it updates.
void Translation::addOffloadOfGradients() {
  bool offloads = std::any_of(config.settings.begin(), config.settings.end(),
                              [](const Setting &setting) {
                                return setting.option == "offload-optimizer" &&
                                       setting.value != "none";
                              });
  bool shares = given("offload-ratio").has_value() ||
                !isMissing("zero_optimization.offload_optimizer.ratio");
  if (offloads && !shares && config.batch.accumulate.value_or(1) > 1 &&
      !given("offload-gradients") && given("reduce") != "last") {
    setDefault("offload-gradients", "cpu", "DeepSpeed's default");
    note("'offload_optimizer' with micro-batches that are added up: the host "
         "keeps the sums of gradients too, as by DeepSpeed; "
         "--offload-gradients none leaves them on the device");
  }
}

/// Says where we take more bits than DeepSpeed does.
void Translation::sayReducePrecision() {
  std::string half = precision();
  if (half != "fp32" && !given("reduce-precision") &&
      isMissing("communication_data_type")) {
    note(absl::StrCat("'communication_data_type' is missing: ranks send "
                      "gradients in float32, where DeepSpeed sends them in ",
                      half, "; --reduce-precision ", half, " does"));
  }
}

/// Transformers fills in what its arguments say, of which none is known.
void Translation::sayAutoPrecision() {
  for (const char *half : {"bf16", "fp16"}) {
    if (!given("precision") && precision() == "fp32" &&
        isAuto(absl::StrCat(half, ".enabled"))) {
      note(absl::StrCat("'", half,
                        ".enabled' is auto: the run is in float32, unless you "
                        "give --precision ",
                        half, ", where Transformers was given --", half));
    }
  }
}

/// Adds the numbers of PyTorch's GradScaler, which Accelerate takes without
/// DeepSpeed.
void Translation::addGradScaler() {
  if (precision() != "fp16" || !fixedScale(*this).empty()) {
    return;
  }
  bool both = !given("loss-scale-window") && !given("loss-scale-hysteresis");
  setDefault("loss-scale-window", "2000", "GradScaler's default");
  setDefault("loss-scale-hysteresis", "1", "GradScaler's default");
  if (!both) {
    return;
  }
  note("without DeepSpeed the loss is scaled as by PyTorch's GradScaler: "
       "halved at every overflow, doubled after 2000 steps without");
}

void Translation::sayDefaults() {
  sayAutoPrecision();
  if (deepspeed) {
    addDeepSpeedDefaults();
  } else {
    addGradScaler();
  }
  if (find("optimizer.type") == nullptr &&
      !(given("optimizer") && given("lr"))) {
    note(absl::StrCat("'optimizer' is missing: --optimizer ",
                      defaultOf("optimizer"), " and --lr ", defaultOf("lr"),
                      ", the defaults, unless you give these options"));
  }
}

} // namespace zerograph::config
