//===- InspectPrecision.cpp - in which types a plan computes --------------===//

#include "runtime/plan/InspectPrecision.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/InspectWords.h"
#include "runtime/plan/SliceTypes.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <map>

namespace zerograph {
namespace {

using namespace words;

struct Count {
  uint64_t values = 0, bytes = 0;
};

/// "h.*.conv2d" of "h.3.conv2d_12_ #1": equal for what repeats in a model.
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
  size_t end = result.find_last_not_of("_*");
  return end == std::string::npos ? "*" : result.substr(0, end + 1);
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

/// "param bf16, master f32, exp_avg f32": what all units have, each once.
std::string statesOf(const Json &units) {
  std::vector<std::string> states;
  for (const Json &unit : units) {
    for (const Json &state : unit["states"]) {
      std::string one =
          absl::StrCat(text(state["role"]), " ", text(state["type"]));
      if (std::find(states.begin(), states.end(), one) == states.end()) {
        states.push_back(one);
      }
    }
  }
  return absl::StrJoin(states, ", ");
}

} // namespace

nlohmann::ordered_json precisionJson(const plan::Plan &plan) {
  return {{"library", libraryJson(plan)}, {"kept", keptJson(plan)}};
}

std::string precisionText(const Json &report) {
  std::string out;
  std::string half;
  for (const Json &type : report["parameter_types"]) {
    std::string name = text(type["type"]);
    half = name == "f16" || name == "bf16" ? name : half;
  }
  if (half.empty()) {
    return out;
  }
  std::string sent = number(report["ranks"]) == 1
                         ? ""
                         : "sent in " + text(report["reduce_precision"]) + ", ";
  absl::StrAppend(&out, "\nPrecision\n  states: ", statesOf(report["units"]),
                  "\n  gradients: ", sent, "added up in fp32\n");
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
  return out;
}

} // namespace zerograph
