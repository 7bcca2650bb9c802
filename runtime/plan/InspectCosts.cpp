//===- InspectCosts.cpp - what a training step costs, and where -----------===//

#include "runtime/plan/InspectParts.h"

#include "runtime/plan/Cost.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"

#include <algorithm>
#include <map>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

/// The nodes that are listed: what moves most.
constexpr size_t kMostNodes = 20;

struct Group {
  Checked steps = 0;
  Cost cost;
};

Json groupsJson(const std::map<std::string, Group> &groups, const char *key) {
  Json list = Json::array();
  for (const auto &[name, group] : groups) {
    Json json{{key, name}, {"steps", group.steps.saturated()}};
    json.update(costJson(group.cost));
    list.push_back(std::move(json));
  }
  auto bytes = [](const Json &json) {
    return json["read"].get<uint64_t>() + json["written"].get<uint64_t>();
  };
  std::stable_sort(list.begin(), list.end(), [&](auto &one, auto &other) {
    return bytes(one) > bytes(other);
  });
  return list;
}

} // namespace

nlohmann::ordered_json costJson(const Cost &cost) {
  MovedBytes moved = cost.moved();
  return {{"read", moved.read.saturated()},
          {"written", moved.written.saturated()},
          {"operations", cost.computed().all().saturated()},
          {"launches", cost.launches.saturated()}};
}

nlohmann::ordered_json costsJson(const plan::Plan &plan) {
  std::map<std::string, Group> kinds, nodes;
  Cost all;
  forEachStep(plan, [&](int p, int, const plan::Step &step) {
    uint64_t runs = runsPerStep(plan, plan.programs(p));
    Cost cost = costOf(plan, step);
    all.add(cost, runs);
    for (Group *group : {&kinds[std::string(opName(step))],
                         &nodes[withoutNumbers(step.name())]}) {
      group->steps = group->steps + runs;
      group->cost.add(cost, runs);
    }
  });
  Json memory = Json::array(), types = Json::array();
  for (size_t space = 1; space < all.memory.size(); ++space) {
    const MovedBytes &moved = all.memory[space];
    if (!moved.all().is(0)) {
      memory.push_back({{"space", nameOf(plan::Space(space))},
                        {"read", moved.read.saturated()},
                        {"written", moved.written.saturated()}});
    }
  }
  for (const auto &[type, counts] : all.operations) {
    types.push_back({{"type", nameOf(type)},
                     {"multiply_adds", counts.multiplyAdds.saturated()},
                     {"simple", counts.simple.saturated()},
                     {"special", counts.special.saturated()}});
  }
  Json json = costJson(all);
  json["memory"] = std::move(memory);
  json["types"] = std::move(types);
  json["kinds"] = groupsJson(kinds, "op");
  json["nodes"] = groupsJson(nodes, "name");
  if (json["nodes"].size() > kMostNodes) {
    json["nodes"].erase(json["nodes"].begin() + kMostNodes,
                        json["nodes"].end());
  }
  return json;
}

} // namespace zerograph
