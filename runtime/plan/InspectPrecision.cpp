//===- InspectPrecision.cpp - in which types a plan computes --------------===//

#include "runtime/plan/InspectPrecision.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/SliceTypes.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include <algorithm>
#include <map>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

struct Count {
  uint64_t values = 0, bytes = 0;
};

/// "h.*.softmax" of "h.3.softmax_12 #1": equal for what repeats in a model.
std::string withoutNumbers(const std::string &name) {
  std::string result;
  for (char c : name.substr(0, name.find(' '))) {
    if (!absl::ascii_isdigit(c)) {
      result += c;
    } else if (!absl::EndsWith(result, "*")) {
      result += '*';
    }
  }
  // An exporter numbers all but the first.
  while (absl::EndsWith(result, "_*")) {
    result.resize(result.size() - 2);
  }
  return result;
}

Json keptJson(const plan::Plan &plan) {
  std::map<plan::ElementType, std::map<std::string, Count>> kept;
  std::vector<plan::ElementType> types = sliceTypes(plan);
  for (int i = 0; i < plan.slices_size(); ++i) {
    const plan::Slice &slice = plan.slices(i);
    if (slice.slice_class() == plan::ACTIVATION) {
      Count &count = kept[types[i]][withoutNumbers(slice.name())];
      ++count.values;
      count.bytes += slice.bytes();
    }
  }
  Json json = Json::array();
  for (const auto &[type, names] : kept) {
    Json list = Json::array();
    Count all;
    for (const auto &[name, count] : names) {
      all.values += count.values;
      all.bytes += count.bytes;
      list.push_back(
          {{"name", name}, {"values", count.values}, {"bytes", count.bytes}});
    }
    std::stable_sort(list.begin(), list.end(),
                     [](auto &a, auto &b) { return a["bytes"] > b["bytes"]; });
    json.push_back({{"type", nameOf(type)},
                    {"values", all.values},
                    {"bytes", all.bytes},
                    {"names", list}});
  }
  return json;
}

/// Of the programs of a step.
Json productsJson(const plan::Plan &plan) {
  using Types = std::pair<plan::ElementType, plan::ElementType>;
  std::map<std::pair<std::string, Types>, uint64_t> counts;
  forEachStep(plan, [&](int p, int, const plan::Step &step) {
    if (plan.programs(p).kind() == plan::EVALUATE) {
      return;
    }
    if (step.has_matmul()) {
      const plan::Matmul &matmul = step.matmul();
      ++counts[{"products", {matmul.element_type(), resultType(matmul)}}];
    } else if (step.has_convolution()) {
      plan::ElementType type = step.convolution().element_type();
      ++counts[{"convolutions", {type, type}}];
    }
  });
  Json json = Json::array();
  for (const auto &[what, count] : counts) {
    json.push_back({{"op", what.first},
                    {"type", nameOf(what.second.first)},
                    {"result", nameOf(what.second.second)},
                    {"steps", count}});
  }
  return json;
}

} // namespace

nlohmann::ordered_json precisionJson(const plan::Plan &plan) {
  return {{"products", productsJson(plan)}, {"kept", keptJson(plan)}};
}

} // namespace zerograph
