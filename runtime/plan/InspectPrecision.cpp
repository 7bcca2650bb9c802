//===- InspectPrecision.cpp - in which types a plan computes --------------===//

#include "runtime/plan/InspectParts.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/SliceTypes.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <map>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

struct Count {
  uint64_t values = 0, bytes = 0;
};

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
      list.push_back({{"type", nameOf(type)},
                      {"name", name},
                      {"values", count.values},
                      {"bytes", count.bytes}});
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

/// Returns what libraries compute in the programs of a step.
Json libraryJson(const plan::Plan &plan) {
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

/// "param bf16", "master f32", "exp_avg f32": what units have, each once.
Json statesJson(const plan::Plan &plan) {
  Json states = Json::array();
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      std::string one = absl::StrCat(state.role(), " ", nameOf(state.type()));
      if (std::find(states.begin(), states.end(), one) == states.end()) {
        states.push_back(one);
      }
    }
  }
  return states;
}

} // namespace

std::string withoutNumbers(const std::string &name) {
  std::string result, word;
  auto endWord = [&] {
    bool digits = !word.empty() &&
                  std::all_of(word.begin(), word.end(), absl::ascii_isdigit);
    result += digits ? "*" : word;
    word.clear();
  };
  for (char c : name.substr(0, name.find(' '))) {
    if (absl::ascii_isalnum(c)) {
      word += c;
    } else {
      endWord();
      result += c;
    }
  }
  endWord();
  // An exporter numbers all but the first.
  for (size_t at = 0; (at = result.find("_*", at)) != std::string::npos;) {
    size_t next = result.find_first_not_of('_', at + 2);
    bool ends = next == std::string::npos || !absl::ascii_isalnum(result[next]);
    size_t begin = ends ? result.find_last_not_of('_', at) + 1 : at;
    result.erase(begin, ends ? at + 2 - begin : 0);
    at = ends ? begin : at + 2;
  }
  result.resize(result.find_last_not_of('_') + 1);
  return result.empty() ? "*" : result;
}

nlohmann::ordered_json precisionJson(const plan::Plan &plan) {
  return {{"states", statesJson(plan)},
          {"library", libraryJson(plan)},
          {"kept", keptJson(plan)}};
}

} // namespace zerograph
