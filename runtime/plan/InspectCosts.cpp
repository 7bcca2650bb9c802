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

struct Group {
  Checked steps = 0;
  Cost cost;
};

Json groupJson(const Group &group) {
  Json json{{"steps", group.steps.saturated()}};
  json.update(costJson(group.cost));
  return json;
}

/// Sorts objects that have the keys of costs: those that move most come first.
void sortByBytes(Json &list) {
  auto bytes = [](const Json &json) {
    return (Checked(json["read"].get<uint64_t>()) +
            json["written"].get<uint64_t>())
        .saturated();
  };
  std::stable_sort(list.begin(), list.end(), [&](auto &one, auto &other) {
    return bytes(one) > bytes(other);
  });
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
  std::map<std::string, Group> kinds;
  std::map<std::string, std::map<std::string, Group>> nodes; // by name, by kind
  Cost all;
  forEachStep(plan, [&](int p, int, const plan::Step &step) {
    uint64_t runs = runsPerStep(plan, plan.programs(p));
    if (runs == 0) {
      return; // an evaluation
    }
    Cost cost = costOf(plan, step);
    std::string kind(opName(step));
    all.add(cost, runs);
    for (Group *group :
         {&kinds[kind], &nodes[withoutNumbers(step.name())][kind]}) {
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
                     {"special", counts.special.saturated()},
                     {"operations", counts.all().saturated()}});
  }
  Json json = costJson(all);
  json["stated"] = statesCosts(plan);
  json["memory"] = std::move(memory);
  json["types"] = std::move(types);
  Json &byKind = json["kinds"] = Json::array();
  for (const auto &[kind, group] : kinds) {
    byKind.emplace_back(Json{{"op", kind}}).update(groupJson(group));
  }
  sortByBytes(byKind);
  Json &byNode = json["nodes"] = Json::array();
  for (const auto &[name, groups] : nodes) {
    for (const auto &[kind, group] : groups) {
      byNode.emplace_back(groupJson(group))
          .update(Json{{"op", kind}, {"name", name}});
    }
  }
  sortByBytes(byNode);
  Json &unfused = json["unfused"] = Json::array();
  for (const plan::Unfused &softmax : plan.unfused()) {
    unfused.push_back(
        {{"attention", softmax.node()}, {"reason", softmax.reason()}});
  }
  return json;
}

} // namespace zerograph
