//===- Inspect.cpp - a plan explained: the JSON report --------------------===//

#include "runtime/plan/Inspect.h"

#include "runtime/plan/CardsFor.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/InspectParts.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/TheoreticalTraffic.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/UnitParts.h"
#include "runtime/plan/Validate.h"
#include "runtime/plan/Verify.h"

#include <cmath>
#include <map>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

Json unitJson(const plan::Plan &plan, const plan::Unit &unit) {
  Json parameters = Json::array();
  uint64_t used = 0;
  for (const plan::Parameter &parameter : unit.parameters()) {
    used += parameter.elements();
    parameters.push_back(
        {{"name", parameter.name()},
         {"shape", std::vector<uint64_t>(parameter.shape().begin(),
                                         parameter.shape().end())},
         {"elements", parameter.elements()},
         {"trainable", parameter.trainable()},
         {"reason", parameter.reason()},
         {"group", parameter.group()},
         {"file", parameter.source().file()}});
  }
  Json states = Json::array();
  for (const plan::State &state : unit.states()) {
    states.push_back({{"role", state.role()},
                      {"type", nameOf(state.type())},
                      {"segment", state.segment()},
                      {"sharded", Mesh(plan).groupSize(state.axes()) > 1}});
  }
  return {{"name", unit.name()},
          {"reason", unit.reason()},
          {"place", unit.place()},
          {"type", nameOf(unit.type())},
          {"trainable", unit.trainable()},
          {"local", unit.local()},
          {"elements", used},
          {"padding", unit.elements() - used},
          {"segments", unit.segments_size()},
          {"parameters", parameters},
          {"states", states}};
}

bool hasWiderMaster(const plan::Unit &unit) {
  return std::any_of(unit.states().begin(), unit.states().end(),
                     [&](const plan::State &state) {
                       return roleOf(state) == Role::Master &&
                              elementSize(state.type()) >
                                  elementSize(unit.type());
                     });
}

/// By type, of all units: how many parameters are computed with in it, and of
/// how many there is a wider master.
Json typesJson(const plan::Plan &plan) {
  std::map<plan::ElementType, std::pair<uint64_t, uint64_t>> counts;
  for (const plan::Unit &unit : plan.units()) {
    auto &[elements, mastered] = counts[unit.type()];
    for (const plan::Parameter &parameter : unit.parameters()) {
      elements += parameter.elements();
      mastered += hasWiderMaster(unit) ? parameter.elements() : 0;
    }
  }
  Json json = Json::array();
  for (const auto &[type, count] : counts) {
    json.push_back({{"type", nameOf(type)},
                    {"elements", count.first},
                    {"bytes", count.first * elementSize(type)},
                    {"with_master", count.second}});
  }
  return json;
}

/// Non-zero classes only.
Json classesJson(const ClassBytes &bytes) {
  Json json = Json::object();
  for (size_t i = 1; i < bytes.size(); ++i) {
    if (bytes[i] != 0) {
      json[nameOf(static_cast<plan::SliceClass>(i))] = bytes[i];
    }
  }
  return json;
}

/// Adds the few largest slices of an arena that are live at a program's step.
void addLargest(const plan::Plan &plan, int program, uint32_t step, int arena,
                Json &list) {
  std::vector<std::optional<Life>> lives = livesOf(plan, program);
  std::vector<const plan::Slice *> live;
  for (int i = 0; i < plan.slices_size(); ++i) {
    const plan::Slice &slice = plan.slices(i);
    bool here = slice.carried() ||
                (lives[i] && lives[i]->first <= step && step <= lives[i]->last);
    if (here && slice.arena() == uint32_t(arena)) {
      live.push_back(&slice);
    }
  }
  std::stable_sort(live.begin(), live.end(),
                   [](auto *a, auto *b) { return a->bytes() > b->bytes(); });
  constexpr size_t kMost = 8;
  live.resize(std::min(kMost, live.size()));
  for (const plan::Slice *slice : live) {
    list.push_back({{"space", nameOf(plan.arenas(arena).space())},
                    {"program", plan.programs(program).name()},
                    {"bytes", slice->bytes()},
                    {"class", nameOf(slice->slice_class())},
                    {"name", slice->name()}});
  }
}

Json memoryJson(const plan::Plan &plan) {
  Json arenas = Json::array();
  std::vector<ArenaMemory> memory = memoryOf(plan);
  for (int i = 0; i < plan.arenas_size(); ++i) {
    const plan::Arena &arena = plan.arenas(i);
    Json programs = Json::array(), largest = programs;
    uint64_t least = 0; // no packing needs less
    for (int p = 0; p < plan.programs_size(); ++p) {
      const ProgramMemory &peak = memory[i].programs[p];
      const plan::Program &program = plan.programs(p);
      least = std::max(least, peak.live);
      bool known = peak.peak_step < uint32_t(program.steps_size());
      programs.push_back(
          {{"space", nameOf(arena.space())},
           {"program", program.name()},
           {"peak_step", peak.peak_step},
           {"peak_step_name",
            known ? program.steps(peak.peak_step).name() : std::string()},
           {"live", peak.live},
           {"by_class", classesJson(peak.by_class)}});
      addLargest(plan, p, peak.peak_step, i, largest);
    }
    arenas.push_back({{"space", nameOf(arena.space())},
                      {"bytes", arena.bytes()},
                      {"peak", peakOf(plan, int(i))},
                      {"lower_bound", least},
                      {"programs", programs},
                      {"largest", largest},
                      {"class_peaks", classesJson(memory[i].class_peaks)}});
  }
  Json cards = Json::object(); // the bytes that an arena can have of each
  for (const CardRoom &card : cardsFor(plan)) {
    cards[card.name] = card.bytes;
  }
  ModelState state = modelState(plan);
  return {{"arenas", arenas},
          {"cards", cards},
          {"model_state",
           {{"parameters", state.parameters},
            {"gradients", state.gradients},
            {"optimizer", state.optimizer}}}};
}

Json trafficJson(const plan::Plan &plan) {
  TheoreticalTraffic book = compareWithTextbook(plan);
  Json differences = Json::array();
  for (const Difference &difference : book.differences) {
    differences.push_back(
        {{"reason", difference.reason}, {"bytes", difference.bytes}});
  }
  Traffic traffic = trafficOf(plan);
  uint64_t saved = reducesLast(plan)
                       ? traffic.reduce.saturated() * (plan.accumulate() - 1)
                       : 0;
  HostTransfers crossing = hostTransfersOf(plan);
  Json json{
      {"gather", traffic.gather.saturated()},
      {"reduce", traffic.reduce.saturated()},
      {"scalar", traffic.scalar.saturated()},
      {"down", crossing.down.saturated()},
      {"up", crossing.up.saturated()},
      {"read", crossing.read.saturated()},
      {"written", crossing.written.saturated()},
      {"planned", book.planned},
      {"saved_by_reducing_last", saved},
      {"textbook",
       {{"formula", book.formula}, {"psi", book.psi}, {"bytes", book.bytes}}},
      {"differences", differences}};
  if (plan.has_evaluation()) {
    Traffic once = evaluationTraffic(plan);
    json["evaluation"] = {{"gather", once.gather.saturated()},
                          {"scalar", once.scalar.saturated()}};
  }
  return json;
}

/// Lists where each slice lies, and in each program the first and the last step
/// that touch it; a carried one lives always.
Json slicesJson(const plan::Plan &plan) {
  Json list = Json::array();
  for (const plan::Slice &slice : plan.slices()) {
    list.push_back({{"name", slice.name()},
                    {"space", nameOf(plan.arenas(int(slice.arena())).space())},
                    {"offset", slice.offset()},
                    {"bytes", slice.bytes()},
                    {"class", nameOf(slice.slice_class())},
                    {"carried", slice.carried()},
                    {"lives", Json::array()}});
  }
  for (int p = 0; p < plan.programs_size(); ++p) {
    std::vector<std::optional<Life>> lives = livesOf(plan, p);
    for (size_t i = 0; i < lives.size(); ++i) {
      if (lives[i]) {
        list[i]["lives"].push_back({{"program", plan.programs(p).name()},
                                    {"first", lives[i]->first},
                                    {"last", lives[i]->last}});
      }
    }
  }
  return list;
}

Json accessesJson(const plan::Plan &plan, const plan::Step &step) {
  Json accesses = Json::array();
  for (const plan::Access &access : step.accesses()) {
    accesses.push_back(
        {{"slice", plan.slices(int(access.slice())).name()},
         {"mode", nameOf(access.mode())},
         {"offset", access.offset()},
         {"bytes", access.bytes()},
         {"strides", std::vector<uint64_t>(access.strides().begin(),
                                           access.strides().end())}});
  }
  return accesses;
}

/// Adds what the step costs, and of a kernel what decides how fast it can be:
/// the bytes of its narrowest access, and elements that a thread of a GPU
/// computes. A scatter, which has more launches, shares them in several ways.
void addCost(const plan::Plan &plan, const plan::Step &step, Json &json) {
  json["node"] = withoutNumbers(step.name());
  json["cost"] = costJson(costOf(plan, step));
  if (!step.has_launch()) {
    return;
  }
  const plan::Kernel &kernel = plan.kernels(int(step.launch().kernel()));
  json["kernel"] = kernel.symbol();
  int launches = kernel.cuda().launches_size();
  if (launches == 1 || launches == 2) {
    const plan::CudaLaunch &first = kernel.cuda().launches(0);
    double elements = double(kernel.elements()) / first.grid() / first.block();
    json["elements_a_thread"] = std::round(elements * 100) / 100;
  }
  uint32_t width = 0;
  for (const plan::Operand &operand : kernel.operands()) {
    if (operand.width() != 0 && (width == 0 || operand.width() < width)) {
      width = operand.width();
    }
  }
  json["narrowest_access"] = width;
}

/// Adds all steps, and apart from them those that exchange something between
/// ranks, or between a rank's device, host and file.
void addSteps(const plan::Plan &plan, Json &report) {
  Json steps = Json::array(), collectives = steps, transfers = steps;
  forEachStep(plan, [&](int p, int s, const plan::Step &step) {
    const plan::Program &program = plan.programs(p);
    Json json{{"program", program.name()},
              {"step", s},
              {"stream", streamName(plan, step)},
              {"op", opName(step)},
              {"name", step.name()}};
    Json exchange = json;
    exchange["runs_per_step"] = runsPerStep(plan, program);
    exchange["reason"] = step.reason();
    if (isCollective(step)) {
      Json &added = collectives.emplace_back(exchange);
      added["sequence"] = step.sequence();
      added["received"] = kindOf(step).traffic(plan, step).all().saturated();
    } else if (transferKindOf(plan, step)) {
      transfers.emplace_back(exchange)["bytes"] = step.accesses(0).bytes();
    }
    uint64_t bytes = 0;
    for (const plan::Access &access : step.accesses()) {
      bytes += access.bytes();
    }
    json["waits"] =
        std::vector<uint32_t>(step.waits().begin(), step.waits().end());
    json["bytes"] = bytes;
    addCost(plan, step, json);
    json["accesses"] = accessesJson(plan, step);
    steps.push_back(std::move(json));
  });
  report["collectives"] = std::move(collectives);
  report["transfers"] = std::move(transfers);
  report["steps"] = std::move(steps);
}

} // namespace

absl::StatusOr<nlohmann::ordered_json> inspectFacts(const LoadedPlan &loaded) {
  ZG_RETURN_IF_ERROR(validatePlan(loaded.plan));
  const plan::Plan &plan = loaded.plan;
  Json units = Json::array();
  for (const plan::Unit &unit : plan.units()) {
    units.push_back(unitJson(plan, unit));
  }
  Json report = settingsJson(loaded);
  report["parameter_types"] = typesJson(plan);
  report["units"] = units;
  report["precision"] = precisionJson(plan);
  report["memory"] = memoryJson(plan);
  report["traffic"] = trafficJson(plan);
  report["costs"] = costsJson(plan);
  absl::StatusOr<std::vector<std::string>> waste = findWaste(plan);
  if (!waste.ok()) {
    report["unsafe"] = waste.status().message();
  }
  report["waste"] = waste.value_or(std::vector<std::string>());
  return report;
}

absl::StatusOr<nlohmann::ordered_json> inspectPlan(const LoadedPlan &loaded) {
  ZG_ASSIGN_OR_RETURN(Json report, inspectFacts(loaded));
  addSteps(loaded.plan, report);
  report["slices"] = slicesJson(loaded.plan);
  return report;
}

void addDiskUse(const DiskUse &use, Json &report) {
  auto whole = [](double value) {
    return value < 0x1p63 ? uint64_t(value) : UINT64_MAX;
  };
  double written = report["traffic"]["written"];
  if (written == 0) {
    return;
  }
  Json &disk = report["disk"] = Json::object();
  double steps = use.terabytes * 1e12 / written;
  if (use.terabytes > 0) {
    disk["steps"] = whole(steps);
  }
  if (use.step_seconds > 0) {
    disk["written_a_day"] = whole(written * 86400 / use.step_seconds);
  }
  if (use.terabytes > 0 && use.step_seconds > 0) {
    disk["days"] = steps * use.step_seconds / 86400;
  }
}

} // namespace zerograph
