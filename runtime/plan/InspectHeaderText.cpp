//===- InspectHeaderText.cpp - what a plan was compiled with, for people --===//

#include "runtime/plan/InspectHeader.h"

#include "runtime/plan/InspectWords.h"

#include "absl/strings/str_format.h"

#include <cmath>

namespace zerograph {
namespace {

using namespace words;

/// What kind it is, and its numbers.
std::string numbers(const Json &object) {
  std::string out = text(object["kind"]);
  for (const auto &[name, value] : object.items()) {
    if (name != "kind") {
      absl::StrAppend(&out, ", ", name, " ",
                      value.is_string() ? text(value) : value.dump());
    }
  }
  return out;
}

/// What a group has of its own.
std::string changes(const Json &optimizer, const Json &group) {
  std::vector<std::string> parts;
  for (const auto &[name, value] : optimizer.items()) {
    if (group[name] != value) {
      parts.push_back(absl::StrCat(name, " ", group[name].dump()));
    }
  }
  return parts.empty() ? "as all others" : absl::StrJoin(parts, ", ");
}

/// "65536 at first, doubled after 1000 steps without overflow, at least 1".
std::string scale(const Json &of) {
  std::string first = of["initial"].dump();
  return number(of["window"]) == 0
             ? absl::StrCat(first, ", always")
             : absl::StrCat(
                   first, " at first, doubled after ", of["window"].dump(),
                   " steps without overflow, at least ", of["minimum"].dump());
}

/// The line of what gradients are clipped to; nothing if they are not.
std::string clipping(const Json &report) {
  std::vector<std::string> limits;
  auto limit = [&](const char *name, const char *what) {
    const Json &value = report[name]; // null, or infinite: it limits nothing
    if (value.is_number() && value != 0 && std::isfinite(double(value))) {
      limits.push_back(what + value.dump());
    }
  };
  limit("clip_norm", "the norm of all to ");
  limit("clip_value", "each number to +-");
  return limits.empty() ? ""
                        : absl::StrCat("  clipped:    gradients, ",
                                       absl::StrJoin(limits, ", "), "\n");
}

/// "1,024 of 4,096 parameters".
std::string trained(const Json &units) {
  uint64_t of = 0, all = 0;
  for (const Json &unit : units) {
    all += number(unit["elements"]);
    of += unit["trainable"].get<bool>() ? number(unit["elements"]) : 0;
  }
  return absl::StrCat(grouped(of), " of ", grouped(all), " parameters");
}

/// What a step is, and how it updates.
void step(const Json &report, std::string &out) {
  absl::StrAppendFormat(&out, "%s, ZeRO stage %d on %s, made by %s\n",
                        text(report["model"]), number(report["zero_stage"]),
                        counted(report["ranks"], "rank"),
                        text(report["producer"]));
  absl::StrAppendFormat(&out, "  a step:     %s of %s a rank; loss \"%s\"%s\n",
                        counted(report["accumulate"], "micro-batch"),
                        counted(report["micro_batch"], "sample"),
                        text(report["loss"]),
                        text(report["loss_mean"]) == "tokens"
                            ? ", a mean over all tokens of the step"
                            : "");
  absl::StrAppend(&out, "  trained:    ", trained(report["units"]),
                  "\n  optimizer:  ", numbers(report["optimizer"]),
                  "\n  schedule:   ", numbers(report["schedule"]), "\n");
  for (size_t i = 1; i < report["groups"].size(); ++i) {
    const Json &group = report["groups"][i];
    absl::StrAppend(&out, "  group ", i, ":    ", text(group["name"]), ": ",
                    changes(report["optimizer"], group), "\n");
  }
}

/// What becomes of gradients before the update, and of the forward pass.
void gradients(const Json &report, std::string &out) {
  if (report["loss_scale"]["initial"] != 1) {
    absl::StrAppend(&out, "  loss scale: ", scale(report["loss_scale"]), "\n");
  }
  absl::StrAppend(&out, clipping(report));
  if (report["skip_nonfinite"].get<bool>()) {
    absl::StrAppend(&out, "  skipped:    updates of gradients that are not all "
                          "finite\n");
  }
  if (uint64_t again = number(report["recomputed"]); again != 0) {
    absl::StrAppend(&out, "  recomputed: ", grouped(again),
                    " operations of the forward pass, in backward\n");
  }
}

/// What the plan is for.
void target(const Json &report, std::string &out) {
  const Json &target = report["target"];
  absl::StrAppendFormat(&out, "  target:     %s%s%s", text(target["device"]),
                        target["features"].empty() ? "" : " with ",
                        listed(target["features"], " "));
  std::string library = text(target["math_library"]);
  if (!library.empty()) {
    std::string isa = text(target["math_isa"]);
    absl::StrAppend(&out, "; ", library, isa.empty() ? "" : " ", isa);
  }
  if (!library.empty() && text(target["device"]) == "cuda") {
    bool products = absl::StrContains(library, "cuBLASLt");
    bool convolutions = absl::StrContains(library, "cuDNN");
    absl::StrAppend(&out, ", ", products ? "products" : "",
                    products && convolutions ? " and " : "",
                    convolutions ? "convolutions" : "", " of f32 ",
                    target["allow_tf32"].get<bool>() ? "may round to TF32"
                                                     : "without TF32");
  }
  absl::StrAppend(&out, "\n");
}

/// How gradients are added up, where bits or traffic depend on it.
void reductions(const Json &report, std::string &out) {
  if (text(report["reduction"]) == "nccl") {
    absl::StrAppend(&out,
                    "  reductions: by the collective library, in an order of "
                    "its own: not the bits of other plans\n");
  }
  if (std::string sent = text(report["reduce_precision"]); sent != "fp32") {
    absl::StrAppend(&out, "  reductions: gradients of a micro-batch travel as ",
                    sent,
                    " and are added up in fp32: not the bits of "
                    "--reduce-precision fp32\n");
  }
  if (text(report["reduce"]) == "last") {
    absl::StrAppend(
        &out, "  reductions: once a step, of what each rank has added up: ",
        grouped(number(report["traffic"]["saved_by_reducing_last"])),
        " bytes less a step and rank than --reduce each, and other bits\n");
  }
}

void parameters(const Json &report, std::string &out) {
  for (const Json &type : report["parameter_types"]) {
    uint64_t masters = number(type["with_master"]);
    absl::StrAppendFormat(&out, "  parameters: %s of %s in %s bytes%s\n",
                          grouped(number(type["elements"])), text(type["type"]),
                          grouped(number(type["bytes"])),
                          masters == 0 ? ""
                                       : absl::StrCat(", ", grouped(masters),
                                                      " with a wider master"));
  }
}

} // namespace

std::string headerText(const Json &report) {
  std::string out;
  step(report, out);
  gradients(report, out);
  target(report, out);
  reductions(report, out);
  parameters(report, out);
  for (const Json &input : report["inputs"]) {
    absl::StrAppendFormat(
        &out, "  input:      %s: %s [%s]%s\n", text(input["name"]),
        text(input["type"]), listed(input["shape"], ", "),
        input["per_sample"].get<bool>() ? ", per sample" : "");
  }
  absl::StrAppendFormat(&out, "  kernels:    %d in %s bytes\n",
                        number(report["kernels"]),
                        grouped(number(report["kernel_module_bytes"])));
  absl::StrAppendFormat(&out, "  hash:       %s\n", text(report["hash"]));
  return out;
}

} // namespace zerograph
