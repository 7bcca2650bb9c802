//===- InspectPrecision.cpp - in which types a plan computes --------------===//

#include "runtime/plan/InspectPrecision.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/SliceTypes.h"

#include <algorithm>
#include <map>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

struct Count {
  uint64_t values = 0, bytes = 0;
};

/// "node_softmax" of "node_softmax_12 #1": what an exporter calls an operator.
std::string operatorOf(const std::string &name) {
  std::string result = name.substr(0, name.find(' '));
  size_t end = result.find_last_not_of("0123456789");
  if (end != std::string::npos && end > 0 && end + 1 < result.size() &&
      result[end] == '_') {
    result.resize(end);
  }
  return result;
}

Json keptJson(const plan::Plan &plan) {
  std::map<plan::ElementType, std::map<std::string, Count>> kept;
  std::vector<plan::ElementType> types = sliceTypes(plan);
  for (int i = 0; i < plan.slices_size(); ++i) {
    const plan::Slice &slice = plan.slices(i);
    if (slice.slice_class() == plan::ACTIVATION) {
      Count &count = kept[types[i]][operatorOf(slice.name())];
      ++count.values;
      count.bytes += slice.bytes();
    }
  }
  Json json = Json::array();
  for (const auto &[type, operators] : kept) {
    Json list = Json::array();
    Count all;
    for (const auto &[name, count] : operators) {
      all.values += count.values;
      all.bytes += count.bytes;
      list.push_back({{"operator", name},
                      {"values", count.values},
                      {"bytes", count.bytes}});
    }
    std::stable_sort(list.begin(), list.end(),
                     [](auto &a, auto &b) { return a["bytes"] > b["bytes"]; });
    json.push_back({{"type", nameOf(type)},
                    {"values", all.values},
                    {"bytes", all.bytes},
                    {"operators", list}});
  }
  return json;
}

Json productsJson(const plan::Plan &plan) {
  std::map<std::pair<plan::ElementType, plan::ElementType>, uint64_t> counts;
  forEachStep(plan, [&](int, int, const plan::Step &step) {
    if (step.has_matmul()) {
      const plan::Matmul &matmul = step.matmul();
      ++counts[{matmul.element_type(), resultType(matmul)}];
    }
  });
  Json json = Json::array();
  for (const auto &[types, count] : counts) {
    json.push_back({{"type", nameOf(types.first)},
                    {"result", nameOf(types.second)},
                    {"steps", count}});
  }
  return json;
}

} // namespace

nlohmann::ordered_json precisionJson(const plan::Plan &plan) {
  return {{"products", productsJson(plan)}, {"kept", keptJson(plan)}};
}

} // namespace zerograph
