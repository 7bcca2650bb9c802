//===- InspectSummary.cpp - a plan on one screen --------------------------===//

#include "runtime/plan/Inspect.h"

#include "options/Sizes.h"
#include "runtime/base/Text.h"
#include "runtime/plan/CardsFor.h"
#include "runtime/plan/Cost.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/InspectParts.h"
#include "runtime/plan/InspectTable.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/Validate.h"
#include "runtime/plan/Verify.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <set>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kColumns = 80;
constexpr size_t kMostClasses = 4; // so that all is one screen

/// As much of a line as a screen is wide.
std::string fitted(std::string line) {
  if (line.size() > kColumns) {
    line.resize(kColumns - 3);
    line += "...";
  }
  return line + "\n";
}

/// A line that begins with `label`, and goes on below after a separator where
/// it is wider than a screen.
std::string wrapped(const std::string &label, const std::string &text,
                    const std::string &separator = ", ") {
  std::string out, line = label;
  // A line that goes on ends with the separator, but for its space.
  size_t width =
      kColumns - absl::StripTrailingAsciiWhitespace(separator).size();
  for (absl::string_view part : absl::StrSplit(text, separator)) {
    bool first = line.size() == label.size();
    if (!first && line.size() + separator.size() + part.size() > width) {
      line += separator;
      absl::StrAppend(&out, absl::StripTrailingAsciiWhitespace(line), "\n");
      line = std::string(label.size(), ' ');
      first = true;
    }
    absl::StrAppend(&line, first ? "" : separator, part);
  }
  return out + line + "\n";
}

/// "846,592 parameters, 4,096 trained; f32".
std::string parametersText(const plan::Plan &plan) {
  uint64_t all = 0, trained = 0;
  std::set<std::string> types;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      all += parameter.elements();
      trained += parameter.trainable() ? parameter.elements() : 0;
    }
    types.insert(nameOf(unit.type()));
    for (const plan::State &state : unit.states()) {
      if (roleOf(state) == Role::Master) {
        types.insert("masters of " + nameOf(state.type()));
      }
    }
  }
  return absl::StrCat(grouped(all), " parameters, ",
                      trained == all ? "all" : grouped(trained), " trained; ",
                      absl::StrJoin(types, ", "));
}

/// Says what decides the numbers of a step besides the model.
std::string updateText(const plan::Plan &plan) {
  if (isForward(plan)) {
    return "none: it runs forward only";
  }
  const plan::OptimizerGroup &first = plan.groups(0);
  std::string text = absl::StrCat(first.kind(), ", lr ", first.learning_rate());
  if (plan.groups_size() > 1) {
    absl::StrAppend(&text, " in the first of ", plan.groups_size(), " groups");
  }
  if (!plan.schedule().kind().empty()) {
    absl::StrAppend(&text, ", ", plan.schedule().kind());
  }
  if (std::string sent = reducePrecisionOf(plan); sent != "fp32") {
    absl::StrAppend(&text, ", gradients sent in ", sent);
  }
  absl::StrAppend(
      &text,
      reductionOf(plan) == std::string("nccl") ? ", --reduction nccl" : "",
      reducesLast(plan) ? ", --reduce last" : "");
  return text;
}

std::string targetText(const plan::Target &target) {
  std::string text = target.device();
  if (isGpu(target) && target.features_size() > 0) {
    absl::StrAppend(&text, " ", target.features(0));
  }
  for (const std::string &part : {target.math_library(), target.math_isa()}) {
    absl::StrAppend(&text, part.empty() ? "" : ", ", part);
  }
  return absl::StrCat(text, target.allow_tf32() ? ", TF32" : "",
                      target.fast_math() ? ", fast math" : "");
}

/// By class, what is live in each arena when most is, and what is allocated.
/// Classes beyond the largest few share a line.
std::string memoryText(const plan::Plan &plan, bool exact) {
  std::vector<ArenaMemory> memory = memoryOf(plan);
  const std::string heading = "Memory of a rank";
  std::vector<Column> columns = {{heading}};
  Json live{{heading, "live at most"}}, allocated{{heading, "allocated"}};
  std::vector<std::pair<uint64_t, Json>> classes(plan::SliceClass_ARRAYSIZE);
  for (int a = 0; a < plan.arenas_size(); ++a) {
    std::string space = nameOf(plan.arenas(a).space());
    columns.push_back({space, true});
    ProgramMemory peak;
    for (const ProgramMemory &program : memory[size_t(a)].programs) {
      peak = program.live > peak.live ? program : peak;
    }
    for (size_t i = 0; i < classes.size(); ++i) {
      if (peak.by_class[i] != 0) {
        classes[i].first += peak.by_class[i];
        classes[i].second[heading] = nameOf(plan::SliceClass(i));
        classes[i].second[space] = peak.by_class[i];
      }
    }
    live[space] = peak.live;
    allocated[space] = plan.arenas(a).bytes();
  }
  std::stable_sort(classes.begin(), classes.end(),
                   [](auto &x, auto &y) { return x.first > y.first; });
  Json rows = Json::array();
  for (const auto &[sum, row] : classes) {
    if (rows.size() <= kMostClasses && sum != 0) {
      rows.push_back(row);
    } else if (sum != 0) {
      rows.back()[heading] = "others";
      for (size_t a = 1; a < columns.size(); ++a) {
        const std::string &space = columns[a].key;
        rows.back()[space] = rows.back().value(space, uint64_t(0)) +
                             row.value(space, uint64_t(0));
      }
    }
  }
  rows.push_back(live);
  rows.push_back(allocated);
  return tableText(rows, columns, exact);
}

/// "120 in micro, 34 in update: 70 kernels, 24 library calls, 6 collectives".
std::string stepsText(const plan::Plan &plan) {
  std::vector<std::string> parts;
  uint64_t kernels = 0, calls = 0, collectives = 0;
  for (const plan::Program &program : plan.programs()) {
    parts.push_back(absl::StrCat(grouped(uint64_t(program.steps_size())),
                                 " in ", program.name()));
    for (const plan::Step &step : program.steps()) {
      kernels += step.has_launch();
      calls += step.has_matmul() || step.has_convolution();
      collectives += isCollective(step);
    }
  }
  return absl::StrCat(
      absl::StrJoin(parts, ", "), ": ", counted(kernels, "kernel"), ", ",
      counted(calls, "library call"), ", ", counted(collectives, "collective"));
}

/// "1.46 T operations, 8.13 GiB read, 3.05 GiB written, 442 launches".
std::string costsText(const plan::Plan &plan, bool exact) {
  if (!statesCosts(plan)) {
    return "an older compiler made the plan and did not count them: compile "
           "again";
  }
  Cost cost = costOf(plan);
  MovedBytes moved = cost.moved();
  return absl::StrCat(countText(cost.computed().all().saturated()),
                      " operations, ", sizeIn(moved.read.saturated(), exact),
                      " read, ", sizeIn(moved.written.saturated(), exact),
                      " written, ",
                      counted(cost.launches.saturated(), "launch", "es"));
}

std::string findingsText(const plan::Plan &plan) {
  absl::StatusOr<std::vector<std::string>> waste = findWaste(plan);
  if (!waste.ok()) {
    return absl::StrCat("UNSAFE: ", waste.status().message());
  }
  return waste->empty() ? "none"
         : waste->size() == 1
             ? waste->front()
             : absl::StrCat(waste->size(), " (--findings): ", waste->front());
}

/// Lists the options that show more.
std::string optionsText() {
  std::string text;
  for (const InspectSection &section : inspectSections()) {
    absl::StrAppend(&text, "--", section.name, " ");
  }
  return text + "--kernels --all";
}

} // namespace

std::string planTitle(const plan::Plan &plan) {
  return absl::StrCat(plan.model(), ": ZeRO stage ", plan.zero_stage(), " on ",
                      counted(worldOf(plan), "rank"));
}

std::string memoryLine(const plan::Plan &plan, bool exact) {
  std::vector<std::string> parts;
  for (const plan::Arena &arena : plan.arenas()) {
    parts.push_back(
        absl::StrCat(nameOf(arena.space()), " ", sizeIn(arena.bytes(), exact)));
  }
  return absl::StrJoin(parts, ", ");
}

std::string fitsLine(const plan::Plan &plan, bool exact) {
  uint64_t device = arenaBytes(plan, plan::DEVICE);
  uint64_t memory = 0, ranks = worldOf(plan);
  for (const plan::Arena &arena : plan.arenas()) {
    memory += arena.space() == plan::NVME ? 0 : arena.bytes();
  }
  const plan::Target &target = plan.devices(0);
  if (!isGpu(target)) {
    std::string text =
        absl::StrCat("a host with ", sizeIn(memory, exact), " free");
    if (ranks > 1) {
      absl::StrAppend(&text, " a rank (", ranks, ": ",
                      sizeIn(ranks * memory, exact), ")");
    }
    // As measured; docs/inspect.md says of what. It must fit in the line.
    return absl::StrCat(text, ", 150 MiB a process");
  }
  uint64_t most = 0;
  for (const CardRoom &card : cardsFor(plan)) {
    if (card.bytes >= device) {
      return absl::StrCat("GPUs from ", card.name, " on, which has ",
                          sizeIn(card.bytes, exact), " for an arena");
    }
    most = std::max(most, card.bytes);
  }
  return absl::StrCat("no GPU that is known: they have at most ",
                      sizeIn(most, exact), " for an arena");
}

std::string trafficLine(const plan::Plan &plan, bool exact) {
  Traffic traffic = trafficOf(plan);
  HostTransfers crossing = hostTransfersOf(plan);
  std::vector<std::string> parts;
  auto add = [&](const char *what, Checked bytes) {
    if (!bytes.is(0)) {
      parts.push_back(what + sizeIn(bytes.saturated(), exact));
    }
  };
  add("gathers ", traffic.gather);
  add("reductions ", traffic.reduce);
  add("scalars ", traffic.scalar);
  add("to the host ", crossing.down);
  add("to the device ", crossing.up);
  add("read from file ", crossing.read);
  add("written ", crossing.written);
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

/// Says what backward computes again and what comes back from the host for it;
/// empty: nothing.
std::string repeatsLine(const plan::Plan &plan, bool exact) {
  if (plan.recompute().empty()) {
    return "";
  }
  uint64_t kept = activationsOnHost(plan);
  std::string text =
      absl::StrCat(counted(plan.recomputed(), "operation"),
                   " of forward, by --recompute ", plan.recompute());
  if (plan.recompute_ratio() != 1) {
    absl::StrAppend(&text, " --recompute-ratio ", plan.recompute_ratio());
  }
  if (kept > 0) {
    absl::StrAppend(&text, "; the host keeps ", sizeIn(kept, exact),
                    " of activations");
  }
  return text;
}

std::vector<std::pair<std::string, std::string>>
planLines(const plan::Plan &plan) {
  std::string loss =
      isForward(plan)
          ? ""
          : absl::StrCat("; loss \"", plan.loss().name(), "\"",
                         plan.has_loss_count() ? ", a mean over tokens" : "");
  if (plan.metrics_size() > 0) {
    absl::StrAppend(&loss, ", ",
                    counted(uint64_t(plan.metrics_size()), "metric"));
  }
  std::string step =
      absl::StrCat(counted(plan.accumulate(), "micro-batch", "es"), " of ",
                   counted(plan.micro_batch(), "sample"), " a rank", loss);
  return {{"model", parametersText(plan)},
          {"step", step},
          {"update", updateText(plan)},
          {"target", targetText(plan.devices(0))}};
}

absl::StatusOr<std::string> inspectSummary(const LoadedPlan &loaded,
                                           bool exact) {
  const plan::Plan &plan = loaded.plan;
  ZG_RETURN_IF_ERROR(validatePlan(plan));
  std::string lines;
  for (const auto &[key, text] : planLines(plan)) {
    absl::StrAppend(
        &lines, fitted(absl::StrCat("  ", key, ":",
                                    std::string(8 - key.size(), ' '), text)));
  }
  std::string repeats = repeatsLine(plan, exact);
  return absl::StrCat(
      fitted(absl::StrCat(planTitle(plan), ", made by ", plan.producer())),
      lines, memoryText(plan, exact), "\n",
      wrapped("Fits:     ", fitsLine(plan, exact)),
      wrapped("Traffic:  ", trafficLine(plan, exact)),
      wrapped("Steps:    ", stepsText(plan)),
      repeats.empty() ? "" : wrapped("Repeats:  ", repeats),
      wrapped("Costs:    ", costsText(plan, exact)),
      fitted("Findings: " + findingsText(plan)),
      wrapped("Read on:  ", optionsText() + " docs/inspect.md", " "));
}

} // namespace zerograph
