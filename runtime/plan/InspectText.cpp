//===- InspectText.cpp - a plan explained, for people ---------------------===//

#include "runtime/plan/Inspect.h"

#include "runtime/plan/InspectHeader.h"
#include "runtime/plan/InspectPrecision.h"
#include "runtime/plan/InspectWords.h"

#include "absl/strings/str_format.h"

namespace zerograph {
namespace {

using namespace words;

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
  std::string out = headerText(report) + precisionText(report);
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
