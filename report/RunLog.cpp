//===- RunLog.cpp - what a run logged -------------------------------------===//

#include "report/RunLog.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace zerograph::report {

using Json = nlohmann::ordered_json;

/// Moves the numbers of a record's metrics to it, as "metrics/NAME"; each that
/// is new gets a column, empty in the lines before.
static void addMetrics(const std::string &of, Json &record, size_t lines,
                       Json &columns) {
  if (!record.contains(of) || !record[of].is_object()) {
    return;
  }
  Json metrics = record[of];
  for (auto &[name, value] : metrics.items()) {
    std::string key = of + "/" + name;
    if (!columns.contains(key)) {
      columns[key] = std::vector<Json>(lines);
    }
    record[key] = value;
  }
}

absl::StatusOr<Json> parseLog(absl::string_view text) {
  constexpr absl::string_view kKeys[] = {
      "step", "loss", "eval_loss", "lr", "grad_norm", "loss_scale", "step_ms"};
  Json columns = Json::object();
  for (absl::string_view key : kKeys) {
    columns[std::string(key)] = Json::array();
  }
  size_t lines = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    Json record = Json::parse(line.begin(), line.end(), nullptr,
                              /*allow_exceptions=*/false);
    ++lines;
    if (!record.is_object() || !record.contains("step") ||
        !record["step"].is_number()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", lines,
          ": expected one that train --log wrote, such as {\"step\": 0, "
          "\"loss\": 4.6}"));
    }
    addMetrics("metrics", record, lines - 1, columns);
    addMetrics("eval_metrics", record, lines - 1, columns);
    for (auto &[key, column] : columns.items()) {
      bool number = record.contains(key) && record[key].is_number();
      column.push_back(number ? record[key] : Json());
    }
  }
  if (lines == 0) {
    return absl::InvalidArgumentError("the log has no step");
  }
  return columns;
}

} // namespace zerograph::report
