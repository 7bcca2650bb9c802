//===- Report.cpp - one page that shows a plan ----------------------------===//

#include "report/Report.h"

#include "report/PageFiles.h"
#include "report/PlanColumns.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Inspect.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace zerograph::report {
namespace {

using Json = nlohmann::ordered_json;

/// Returns what decides whether to use the plan, a sentence a line: at first
/// how long it takes, if that is known.
Json verdictJson(const PlanShown &shown) {
  const plan::Plan &plan = shown.loaded.plan;
  std::vector<std::string> lines;
  if (shown.prediction) {
    lines = absl::StrSplit(simulate::verdictText(*shown.prediction), '\n',
                           absl::SkipEmpty());
  } else {
    lines.push_back(absl::StrCat("it fits ", fitsLine(plan, false)));
  }
  lines.push_back(
      absl::StrCat("a rank needs ", memoryLine(plan, false),
                   "; traffic of a step: ", trafficLine(plan, false)));
  return lines;
}

/// Returns the figures of a machine that bound a kernel.
Json roofJson(const plan::Plan &plan, const simulate::Machine &machine,
              const simulate::Summary &summary) {
  double shared = summary.ranks_per_device;
  return {
      {"bytes_per_second", machine.memory_bandwidth * 1e9 / shared},
      {"vector", machine.vector_f32 * 1e12 / shared},
      {"products",
       simulate::productPeak(summary.most_multiplied, plan, machine) / shared},
      {"products_type", summary.peak_type}};
}

absl::StatusOr<Json> factsJson(const PlanShown &shown) {
  ZG_ASSIGN_OR_RETURN(Json facts, inspectFacts(shown.loaded));
  for (Json &unit : facts["units"]) {
    unit["parameters"] = unit["parameters"].size();
    unit.erase("states");
  }
  const plan::Plan &plan = shown.loaded.plan;
  facts["file"] = shown.file;
  facts["title"] = planTitle(plan);
  for (const auto &[key, text] : planLines(plan)) {
    facts["lines"][key] = text;
  }
  facts["verdict"] = verdictJson(shown);
  if (shown.prediction) {
    facts["prediction"] = simulate::predictionJson(plan, *shown.prediction);
    Json &parts = facts["part_names"] = Json::object();
    for (const simulate::Part &part : simulate::kParts) {
      parts[part.key] = part.text;
    }
    facts["roof"] = roofJson(plan, *shown.machine, shown.prediction->summary);
  }
  return facts;
}

/// Returns the JSON as text that cannot end the script around it.
std::string inScript(const Json &json) {
  return absl::StrReplaceAll(json.dump(-1, ' ', /*ensure_ascii=*/false,
                                       Json::error_handler_t::replace),
                             {{"<", "\\u003c"}});
}

} // namespace

absl::StatusOr<std::string> reportPage(const PageContent &content) {
  const PlanShown &shown = content.plan;
  Json data;
  ZG_ASSIGN_OR_RETURN(data["plan"], factsJson(shown));
  data["columns"] = planColumns(
      shown.loaded.plan, shown.prediction ? &*shown.prediction : nullptr,
      content.measured ? &*content.measured : nullptr);
  if (content.log) {
    data["log"] = *content.log;
  }
  if (content.against) {
    ZG_ASSIGN_OR_RETURN(data["against"], factsJson(*content.against));
  }
  std::string page, style, scripts;
  for (const EmbeddedFile &file : pageFiles()) {
    std::string &part = file.name == "page"    ? page
                        : file.name == "style" ? style
                                               : scripts;
    absl::StrAppend(&part, file.text);
  }
  // One pass: what replaces a mark is not searched for others.
  return absl::StrReplaceAll(page, {{"/* style */", style},
                                    {"/* data */", inScript(data)},
                                    {"/* scripts */", scripts}});
}

} // namespace zerograph::report
