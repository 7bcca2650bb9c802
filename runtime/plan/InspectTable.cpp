//===- InspectTable.cpp - lists of a report as aligned columns ------------===//

#include "runtime/plan/InspectTable.h"

#include "options/Sizes.h"
#include "runtime/base/Text.h"

#include "absl/strings/str_format.h"

#include <algorithm>

namespace zerograph {

using Json = nlohmann::ordered_json;

std::string sizeIn(uint64_t bytes, bool exact) {
  return exact ? grouped(bytes) : options::sizeText(bytes);
}

std::string countText(uint64_t count) {
  if (count < 1000) {
    return grouped(count);
  }
  double value = double(count);
  const char *letter = "";
  for (const char *next : {"k", "M", "G", "T", "P", "E"}) {
    if (value < 999.5) {
      break;
    }
    value /= 1000;
    letter = next;
  }
  int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f %s", digits, value, letter);
}

std::string valueText(const Json &value, bool size, bool exact) {
  if (value.is_number_integer()) {
    auto number = value.get<uint64_t>();
    bool below = !value.is_number_unsigned() && value.get<int64_t>() < 0;
    number = below ? -number : number;
    return (below ? "-" : "") +
           (size ? sizeIn(number, exact) : grouped(number));
  }
  if (value.is_boolean()) {
    return value.get<bool>() ? "yes" : "no";
  }
  if (value.is_structured()) {
    std::vector<std::string> parts;
    for (const Json &part : value) {
      parts.push_back(part.is_number() ? part.dump()
                                       : valueText(part, size, exact));
    }
    bool plain = value.is_array() && !value.empty() && !value[0].is_object();
    return plain ? absl::StrCat("[", absl::StrJoin(parts, ", "), "]")
                 : absl::StrJoin(parts, " ");
  }
  std::string text =
      value.is_string() ? value.get<std::string>() : value.dump();
  return text == "null" ? "" : text; // as infinity is too
}

std::string alignedText(const std::vector<std::vector<std::string>> &lines,
                        const std::vector<bool> &right) {
  std::vector<size_t> widths(right.size());
  for (const std::vector<std::string> &line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], line[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string> &line : lines) {
    std::string said;
    for (size_t i = 0; i < line.size(); ++i) {
      std::string space(widths[i] - line[i].size(), ' ');
      said += right[i] ? "  " + space + line[i] : "  " + line[i] + space;
    }
    said.erase(said.find_last_not_of(' ') + 1);
    text += said + "\n";
  }
  return text;
}

std::string tableText(const Json &rows, const std::vector<Column> &columns,
                      bool exact) {
  std::vector<std::vector<std::string>> lines(rows.size() + 1);
  std::vector<bool> right;
  for (const Column &column : columns) {
    std::vector<std::string> texts;
    bool number = false;
    for (const Json &row : rows) {
      const Json value = row.value(column.key, Json());
      number |= value.is_number();
      texts.push_back(valueText(value, column.size, exact));
    }
    if (std::all_of(texts.begin(), texts.end(),
                    [](const std::string &text) { return text.empty(); })) {
      continue;
    }
    right.push_back(number);
    lines[0].push_back(column.key);
    for (size_t i = 0; i < texts.size(); ++i) {
      lines[i + 1].push_back(std::move(texts[i]));
    }
  }
  return rows.empty() ? "  none\n" : alignedText(lines, right);
}

} // namespace zerograph
