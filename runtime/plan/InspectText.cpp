//===- InspectText.cpp - a plan explained, for people ---------------------===//

#include "runtime/plan/Inspect.h"

#include "runtime/base/Text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <cmath>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

std::string text(const Json &value) { return value.get<std::string>(); }
uint64_t number(const Json &value) { return value.get<uint64_t>(); }

std::string signedGrouped(int64_t value) {
  return absl::StrCat(value < 0 ? "-" : "+",
                      grouped(value < 0 ? -uint64_t(value) : uint64_t(value)));
}

/// "1 rank", "4 ranks".
std::string counted(const Json &value, const char *of) {
  uint64_t count = number(value);
  return absl::StrCat(count, " ", of,
                      count == 1                 ? ""
                      : absl::EndsWith(of, "ch") ? "es"
                                                 : "s");
}

std::string listed(const Json &values, const char *separator) {
  std::vector<std::string> parts;
  for (const Json &value : values) {
    parts.push_back(value.is_string() ? text(value) : value.dump());
  }
  return absl::StrJoin(parts, separator);
}

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

void header(const Json &report, std::string &out) {
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
  for (const Json &type : report["parameter_types"]) {
    uint64_t masters = number(type["with_master"]);
    absl::StrAppendFormat(&out, "  parameters: %s of %s in %s bytes%s\n",
                          grouped(number(type["elements"])), text(type["type"]),
                          grouped(number(type["bytes"])),
                          masters == 0 ? ""
                                       : absl::StrCat(", ", grouped(masters),
                                                      " with a wider master"));
  }
  if (text(report["reduce"]) == "last") {
    absl::StrAppend(
        &out, "  reductions: once a step, of what each rank has added up: ",
        grouped(number(report["traffic"]["saved_by_reducing_last"])),
        " bytes less a step and rank than --reduce each, and other bits\n");
  }
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
}

/// Names and the bytes of what they made, the most first; few of them.
std::string mostOf(const Json &names) {
  constexpr size_t kMost = 5;
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    parts.push_back(absl::StrCat(text(names[i]["name"]), " ",
                                 grouped(number(names[i]["bytes"]))));
  }
  if (names.size() > kMost) {
    parts.push_back(counted(names.size() - kMost, "other"));
  }
  return absl::StrJoin(parts, ", ");
}

/// Which types a plan of halves computes with; of others nothing.
void precision(const Json &report, std::string &out) {
  std::string half;
  for (const Json &type : report["parameter_types"]) {
    std::string name = text(type["type"]);
    half = name == "f16" || name == "bf16" ? name : half;
  }
  if (half.empty()) {
    return;
  }
  absl::StrAppend(&out, "\nPrecision\n");
  for (const Json &steps : report["precision"]["library"]) {
    std::string type = text(steps["type"]), result = text(steps["result"]);
    absl::StrAppendFormat(
        &out, "  %s by the library: %s of %s%s%s\n", text(steps["op"]),
        counted(steps["steps"], "step"), type,
        type == result ? "" : absl::StrCat(", giving ", result),
        type == "f32" ? absl::StrCat(", of what was rounded to ", half) : "");
  }
  absl::StrAppend(&out, report["precision"]["library"].empty()
                            ? "  every kernel computes in f32\n"
                            : "  everything else computes in f32\n");
  if (!report["precision"]["kept"].empty()) {
    absl::StrAppend(&out, "  kept for backward, in bytes, by what made it:\n");
  }
  for (const Json &kept : report["precision"]["kept"]) {
    absl::StrAppendFormat(&out, "    %-5s %15s: %s\n", text(kept["type"]),
                          grouped(number(kept["bytes"])),
                          mostOf(kept["names"]));
  }
}

void units(const Json &report, std::string &out) {
  absl::StrAppend(&out, "\nUnits\n");
  for (const Json &unit : report["units"]) {
    absl::StrAppendFormat(
        &out, "  %s: %s elements of %s + %s padding, %s, %s%s (%s)\n",
        text(unit["name"]), grouped(number(unit["elements"])),
        text(unit["type"]), grouped(number(unit["padding"])),
        counted(unit["segments"], "segment"),
        unit["trainable"].get<bool>() ? "trainable" : "frozen",
        unit["local"].get<bool>() ? ", each rank's own" : "",
        text(unit["reason"]));
    for (const Json &parameter : unit["parameters"]) {
      std::string reason = text(parameter["reason"]);
      uint64_t group = number(parameter["group"]);
      absl::StrAppendFormat(
          &out, "    %s [%s] %s%s%s\n", text(parameter["name"]),
          listed(parameter["shape"], ", "),
          parameter["trainable"].get<bool>() ? "trained" : "frozen",
          group == 0 ? "" : absl::StrCat(" in group ", group),
          reason.empty() ? "" : ": " + reason);
    }
  }
}

void classes(const Json &bytes, std::string &out) {
  for (const auto &[name, value] : bytes.items()) {
    absl::StrAppendFormat(&out, "      %-20s %15s\n",
                          name == "staging" ? "staging and scratch" : name,
                          grouped(number(value)));
  }
}

void memory(const Json &report, std::string &out) {
  absl::StrAppend(&out, "\nMemory of a rank, bytes\n");
  for (const Json &arena : report["memory"]["arenas"]) {
    absl::StrAppendFormat(&out,
                          "  %s: %s allocated, %s used at most, %s is the "
                          "lower bound\n",
                          text(arena["space"]), grouped(number(arena["bytes"])),
                          grouped(number(arena["peak"])),
                          grouped(number(arena["lower_bound"])));
    for (const Json &program : arena["programs"]) {
      absl::StrAppendFormat(
          &out, "    \"%s\" has most live at step %d (%s): %s\n",
          text(program["program"]), number(program["peak_step"]),
          text(program["peak_step_name"]), grouped(number(program["live"])));
      classes(program["by_class"], out);
    }
    absl::StrAppend(&out, "    each class at its own peak\n");
    classes(arena["class_peaks"], out);
  }
  const Json &state = report["memory"]["model_state"];
  absl::StrAppendFormat(
      &out,
      "  model state: parameters %s (with what is gathered), gradients %s, "
      "optimizer %s\n",
      grouped(number(state["parameters"])), grouped(number(state["gradients"])),
      grouped(number(state["optimizer"])));
  if (text(report["target"]["device"]) == "cuda") {
    absl::StrAppend(&out, "  on top of it a GPU holds its context, kernels, "
                          "libraries and graphs: `train` measures them\n");
  }
}

void traffic(const Json &report, std::string &out) {
  absl::StrAppend(&out, "\nCollectives, bytes received by a rank\n");
  for (const Json &item : report["collectives"]) {
    absl::StrAppendFormat(
        &out, "  %s %4d  #%-3d %-14s on %-7s %15s x %d  %s: %s\n",
        text(item["program"]), number(item["step"]), number(item["sequence"]),
        text(item["op"]), text(item["stream"]),
        grouped(number(item["received"])), number(item["runs_per_step"]),
        text(item["name"]), text(item["reason"]));
  }
  const Json &sums = report["traffic"];
  const Json &book = sums["textbook"];
  absl::StrAppendFormat(
      &out,
      "  a step: gathers %s, reductions %s, scalars %s; together %s\n"
      "  textbook: %s = %s with Psi = %s bytes\n",
      grouped(number(sums["gather"])), grouped(number(sums["reduce"])),
      grouped(number(sums["scalar"])), grouped(number(sums["planned"])),
      text(book["formula"]), grouped(number(book["bytes"])),
      grouped(number(book["psi"])));
  for (const Json &difference : book["differences"]) {
    absl::StrAppendFormat(&out, "    %15s  %s\n",
                          signedGrouped(difference["bytes"].get<int64_t>()),
                          text(difference["reason"]));
  }
  if (sums.contains("evaluation")) {
    const Json &once = sums["evaluation"];
    absl::StrAppendFormat(&out,
                          "  an evaluated micro-batch of each rank: gathers "
                          "%s, scalars %s\n",
                          grouped(number(once["gather"])),
                          grouped(number(once["scalar"])));
  }
}

/// How long it lasts, where that was asked for.
void disk(const Json &report, std::string &out) {
  if (!report.contains("disk")) {
    return;
  }
  const Json &disk = report["disk"];
  if (disk.contains("written_a_day")) {
    absl::StrAppendFormat(&out, "  a day: %s written to it\n",
                          grouped(number(disk["written_a_day"])));
  }
  if (disk.contains("steps")) {
    absl::StrAppendFormat(&out, "  the disk lasts %s steps",
                          grouped(number(disk["steps"])));
    if (disk.contains("days")) {
      absl::StrAppendFormat(&out, ", %.1f days", double(disk["days"]));
    }
    absl::StrAppend(&out, " of this rank alone\n");
  }
}

/// Between a rank's device, the host and its file.
void transfers(const Json &report, std::string &out) {
  if (report["transfers"].empty()) {
    return;
  }
  absl::StrAppend(&out, "\nBetween device, host and file, bytes of a rank\n");
  for (const Json &item : report["transfers"]) {
    absl::StrAppendFormat(&out, "  %s %4d  %-7s %15s x %d  %s: %s\n",
                          text(item["program"]), number(item["step"]),
                          text(item["stream"]), grouped(number(item["bytes"])),
                          number(item["runs_per_step"]), text(item["name"]),
                          text(item["reason"]));
  }
  const Json &sums = report["traffic"];
  absl::StrAppendFormat(&out, "  a step: %s down, %s up\n",
                        grouped(number(sums["down"])),
                        grouped(number(sums["up"])));
  if (number(sums["read"]) + number(sums["written"]) > 0) {
    absl::StrAppendFormat(
        &out, "  a step: %s read from the rank's file, %s written to it\n",
        grouped(number(sums["read"])), grouped(number(sums["written"])));
  }
  disk(report, out);
}

void waste(const Json &report, std::string &out) {
  if (!report["waste"].empty()) {
    absl::StrAppend(&out, "\nWasteful\n  ", listed(report["waste"], "\n  "),
                    "\n");
  }
}

void steps(const Json &report, std::string &out) {
  absl::StrAppend(&out, "\nSteps\n");
  for (const Json &step : report["steps"]) {
    absl::StrAppendFormat(
        &out, "  %s %4d  %-8s %-14s %15s  %s%s%s\n", text(step["program"]),
        number(step["step"]), text(step["stream"]), text(step["op"]),
        grouped(number(step["bytes"])), text(step["name"]),
        step["waits"].empty() ? "" : "  after ", listed(step["waits"], ", "));
  }
}

} // namespace

std::string inspectText(const Json &report, bool with_steps) {
  std::string out;
  header(report, out);
  precision(report, out);
  units(report, out);
  memory(report, out);
  traffic(report, out);
  transfers(report, out);
  waste(report, out);
  if (with_steps) {
    steps(report, out);
  }
  return out;
}

} // namespace zerograph
