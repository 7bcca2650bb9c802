//===- RunLog.cpp - what a run logged -------------------------------------===//

#include "report/RunLog.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace zerograph::report {

using Json = nlohmann::ordered_json;

absl::StatusOr<Json> parseLog(absl::string_view text) {
  Json columns = Json::object();
  size_t lines = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    Json record = Json::parse(line.begin(), line.end(), nullptr,
                              /*allow_exceptions=*/false);
    if (!record.is_object() || !record.contains("step") ||
        !record["step"].is_number()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", lines + 1,
          ": expected one that train --log wrote, such as {\"step\": 0, "
          "\"loss\": 4.6}"));
    }
    for (const auto &[key, value] : record.items()) {
      Json &column = columns[key];
      while (column.size() < lines) {
        column.push_back(nullptr);
      }
      column.push_back(value.is_number() ? value : Json());
    }
    ++lines;
    for (Json &column : columns) {
      if (column.size() < lines) {
        column.push_back(nullptr);
      }
    }
  }
  return columns;
}

} // namespace zerograph::report
