//===- InspectTable.h - lists of a report as aligned columns --------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_INSPECTTABLE_H
#define ZEROGRAPH_RUNTIME_PLAN_INSPECTTABLE_H

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace zerograph {

/// "1.53 GiB", or all digits in groups if `exact`.
std::string sizeIn(uint64_t bytes, bool exact);

/// "1.46 T": a count to three digits, thousands to a letter.
std::string countText(uint64_t count);

/// A value for people: "yes" and "no", counts in groups of digits or, if
/// `size`, as bytes; "[1, 2]"; the values of an object one after the other;
/// nothing for null.
std::string valueText(const nlohmann::ordered_json &value, bool size,
                      bool exact);

/// A column has the values of one key, which is also its heading.
struct Column {
  std::string key;
  bool size = false; // the values are bytes
};

/// The objects of a list as lines below a line of headings, in columns as wide
/// as they must be. Leaves out columns in which nothing stands.
std::string tableText(const nlohmann::ordered_json &rows,
                      const std::vector<Column> &columns, bool exact);

/// Lines of equally many values in columns, two spaces before each. In the
/// columns that `right` says, values end together; in the others they begin so.
std::string alignedText(const std::vector<std::vector<std::string>> &lines,
                        const std::vector<bool> &right);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_INSPECTTABLE_H
