//===- Names.h - the names of a table's rows ------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_NAMES_H
#define ZEROGRAPH_OPTIONS_NAMES_H

#include <string>
#include <string_view>
#include <vector>

namespace zerograph::options {

/// Returns the row of this name; null where there is none.
template <typename Row, size_t N>
constexpr const Row *findRow(const Row (&rows)[N], std::string_view name) {
  for (const Row &row : rows) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

/// Returns the names of all rows: "a, b, c".
template <typename Row, size_t N>
std::string namesOf(const Row (&rows)[N], std::string_view separator = ", ") {
  std::string names;
  for (const Row &row : rows) {
    names.append(names.empty() ? "" : separator).append(row.name);
  }
  return names;
}

/// Returns "a, b and c".
inline std::string listed(const std::vector<std::string> &names,
                          std::string_view last = " and ") {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    list.append(i == 0 ? "" : i + 1 == names.size() ? last : ", ");
    list.append(names[i]);
  }
  return list;
}

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_NAMES_H
