//===- InspectSections.cpp - the parts of a report, for people ------------===//

#include "runtime/plan/Inspect.h"

#include "runtime/plan/InspectParts.h"
#include "runtime/plan/InspectTable.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <map>

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;
using Text = std::function<std::string(const Json &report, bool exact)>;

/// "adamw, lr 0.001": what an object says, except what is 0, no, or empty; its
/// kind stands first, without a name.
std::string inOneLine(const Json &object, bool sizes, bool exact) {
  std::vector<std::string> parts;
  for (const auto &[name, value] : object.items()) {
    std::string text = valueText(value, sizes, exact);
    if (name == "kind") {
      parts.insert(parts.begin(), text);
    } else if (value != 0 && value != false && !text.empty()) {
      parts.push_back(absl::StrCat(name, " ", text));
    }
  }
  return absl::StrJoin(parts, ", ");
}

/// The object at a place of the report, a line for each key before `until`, and
/// for each item of a list that holds no numbers.
Text values(const std::string &place, bool sizes, const char *until = "") {
  return [=](const Json &report, bool exact) {
    std::vector<std::vector<std::string>> lines;
    Json::json_pointer pointer(place);
    const Json &object = report.contains(pointer) ? report[pointer] : Json();
    for (const auto &[name, value] : object.items()) {
      if (name == until) {
        break;
      }
      bool list = value.is_array() && !value.empty() && !value[0].is_number();
      for (const Json &item : list ? value : Json::array({value})) {
        std::string text = item.is_object() ? inOneLine(item, sizes, exact)
                                            : valueText(item, sizes, exact);
        if (!text.empty() && item != 0 && item != false) {
          lines.push_back({name, text});
        }
      }
    }
    return alignedText(lines, {false, false});
  };
}

/// The list at a place of the report, or all that its items have as `inner`.
Text table(const std::string &place, const std::vector<Column> &columns,
           const std::string &inner = "") {
  return [=](const Json &report, bool exact) {
    const Json &list = report[Json::json_pointer(place)];
    Json all = Json::array();
    for (const Json &each : inner.empty() ? Json() : list) {
      all.insert(all.end(), each[inner].begin(), each[inner].end());
    }
    return tableText(inner.empty() ? list : all, columns, exact);
  };
}

/// One text after the other.
Text together(const std::vector<Text> &parts) {
  return [=](const Json &report, bool exact) {
    std::vector<std::string> texts;
    for (const Text &part : parts) {
      if (std::string text = part(report, exact); !text.empty()) {
        texts.push_back(text);
      }
    }
    return absl::StrJoin(texts, "\n");
  };
}

/// Lists for each arena the bytes by class at the peak of each program, and
/// each class at a peak of its own.
std::string classes(const Json &report, bool exact) {
  std::string out;
  for (const Json &arena : report["memory"]["arenas"]) {
    std::vector<Column> columns = {{"class"}};
    Json list = Json::array();
    for (const auto &[name, peak] : arena["class_peaks"].items()) {
      Json &row = list.emplace_back(Json{{"class", name}});
      for (const Json &program : arena["programs"]) {
        row[program["program"]] = program["by_class"].value(name, uint64_t(0));
      }
      row["at its own peak"] = peak;
    }
    for (const Json &program : arena["programs"]) {
      columns.push_back({program["program"], true});
    }
    columns.push_back({"at its own peak", true});
    absl::StrAppend(&out, out.empty() ? "" : "\n",
                    arena["space"].get<std::string>(), "\n",
                    tableText(list, columns, exact));
  }
  return out;
}

/// Lists the nodes that move most, and all others together.
std::string costsOfNodes(const Json &report, bool exact) {
  constexpr size_t kMost = 20;
  Json rows = Json::array(), others{{"name", "others"}};
  for (const Json &node : report["costs"]["nodes"]) {
    if (rows.size() < kMost) {
      rows.push_back(node);
      continue;
    }
    for (const char *key : {"read", "written", "operations", "steps"}) {
      others[key] = others.value(key, uint64_t(0)) + node[key].get<uint64_t>();
    }
  }
  if (others.size() > 1) {
    rows.push_back(others);
  }
  return tableText(rows,
                   {{"read", true},
                    {"written", true},
                    {"operations"},
                    {"steps"},
                    {"op"},
                    {"name"}},
                   exact);
}

/// Lists attention whose scores are stored, if there is any: nodes that differ
/// in numbers alone are one line.
std::string storedScores(const Json &report, bool exact) {
  std::map<std::pair<std::string, std::string>, uint64_t> counts;
  for (const Json &each : report["costs"]["unfused"]) {
    ++counts[{withoutNumbers(each["attention"].get<std::string>()),
              each["reason"].get<std::string>()}];
  }
  Json rows = Json::array();
  for (const auto &[key, count] : counts) {
    rows.push_back(Json{{"scores stored", key.first},
                        {"nodes", count},
                        {"because", key.second}});
  }
  return rows.empty()
             ? ""
             : tableText(rows, {{"scores stored"}, {"nodes"}, {"because"}},
                         exact);
}

std::string findings(const Json &report, bool) {
  std::string out;
  if (report.contains("unsafe")) {
    out = "  unsafe: " + report["unsafe"].get<std::string>() + "\n";
  }
  for (const Json &waste : report["waste"]) {
    absl::StrAppend(&out, "  wasteful: ", waste.get<std::string>(), "\n");
  }
  return out.empty() ? "  none\n" : out;
}

} // namespace

const std::vector<InspectSection> &inspectSections() {
  constexpr bool kSize = true;
  static const std::vector<InspectSection> sections = {
      {"settings", "What it was compiled with", values("", false, "units")},
      {"units", "Units, and their parameters",
       together(
           {table("/units", {{"name"},
                             {"type"},
                             {"elements"},
                             {"padding"},
                             {"segments"},
                             {"trainable"},
                             {"local"},
                             {"reason"},
                             {"place"}}),
            table("/units",
                  {{"name"}, {"shape"}, {"trainable"}, {"group"}, {"reason"}},
                  "parameters")})},
      {"memory", "Memory of a rank, by space, program and class",
       together(
           {table("/memory/arenas", {{"space"},
                                     {"bytes", kSize},
                                     {"peak", kSize},
                                     {"lower_bound", kSize}}),
            table("/memory/arenas",
                  {{"space"},
                   {"program"},
                   {"live", kSize},
                   {"peak_step"},
                   {"peak_step_name"}},
                  "programs"),
            classes,
            table(
                "/memory/arenas",
                {{"space"}, {"program"}, {"bytes", kSize}, {"class"}, {"name"}},
                "largest"),
            values("/memory/model_state", kSize)})},
      {"precision", "Types: of states, products, and what is kept for backward",
       together(
           {values("/precision", false, "library"),
            table("/precision/library",
                  {{"op"}, {"type"}, {"result"}, {"steps"}}),
            table("/precision/kept", {{"type"}, {"values"}, {"bytes", kSize}}),
            table("/precision/kept",
                  {{"type"}, {"bytes", kSize}, {"values"}, {"name"}},
                  "names")})},
      {"collectives", "Collectives, bytes received by a rank",
       together({table("/collectives", {{"program"},
                                        {"step"},
                                        {"sequence"},
                                        {"op"},
                                        {"stream"},
                                        {"received", kSize},
                                        {"runs_per_step"},
                                        {"name"},
                                        {"reason"}}),
                 values("/traffic", kSize)})},
      {"transfers", "Copies between a rank's device, host and file",
       together({table("/transfers", {{"program"},
                                      {"step"},
                                      {"stream"},
                                      {"bytes", kSize},
                                      {"runs_per_step"},
                                      {"name"},
                                      {"reason"}}),
                 values("/disk", false)})},
      {"costs", "What a training step computes and moves, by kind and node",
       together({values("/costs", kSize, "operations"),
                 table("/costs/memory",
                       {{"space"}, {"read", kSize}, {"written", kSize}}),
                 table("/costs/types", {{"type"},
                                        {"multiply_adds"},
                                        {"simple"},
                                        {"special"},
                                        {"operations"}}),
                 table("/costs/kinds", {{"op"},
                                        {"steps"},
                                        {"launches"},
                                        {"read", kSize},
                                        {"written", kSize},
                                        {"operations"}}),
                 costsOfNodes, storedScores})},
      {"findings", "What is unsafe or wasteful", findings},
      {"slices", "Slices: where buffers lie, and when they live",
       table("/slices", {{"space"},
                         {"offset"},
                         {"bytes", kSize},
                         {"class"},
                         {"carried"},
                         {"lives"},
                         {"name"}})},
      {"steps", "Steps",
       table("/steps", {{"program"},
                        {"step"},
                        {"stream"},
                        {"op"},
                        {"bytes", kSize},
                        {"waits"},
                        {"name"}})},
  };
  return sections;
}

} // namespace zerograph
