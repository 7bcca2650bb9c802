//===- GivenStates.cpp - values of the caller's for what ranks hold -------===//

#include "runtime/state/GivenStates.h"

#include "runtime/base/EditDistance.h"
#include "runtime/base/Text.h"
#include "runtime/state/NotFinite.h"
#include "runtime/state/WeightFile.h"
#include "runtime/state/WritePart.h"

#include <cstring>
#include <map>
#include <set>
#include <xxhash.h>

using namespace zerograph;

namespace {

/// Returns whether a state has the values of arrays of a role.
bool holds(const plan::State &state, Role role) {
  Role own = roleOf(state);
  return own == role || (role == Role::Param && own == Role::Master);
}

const std::byte *bytesOf(const TensorExtent &extent) {
  return extent.file->memory() + extent.offset;
}

/// Returns what is wrong with an array for a parameter's state; empty: nothing.
std::string problemOf(const std::string &name, const TensorExtent &extent,
                      const SafetensorsWriter::Entry &wanted, bool trained) {
  if (extent.shape != wanted.shape || !canConvert(extent.type, wanted.type)) {
    return absl::StrCat("'", name, "' is ", plan::ElementType_Name(extent.type),
                        " ", shapeText(extent.shape), ", expected ",
                        plan::ElementType_Name(wanted.type), " ",
                        shapeText(wanted.shape));
  }
  auto bad = findNotFinite(extent.type, bytesOf(extent),
                           extent.bytes / elementSize(extent.type),
                           /*infinite_allowed=*/!trained);
  return bad ? absl::StrCat("'", name, "' has ", bad->name, " in element ",
                            bad->index, ", which would spread to others")
             : "";
}

/// Returns the names of what the plan trains.
std::set<std::string> trainedOf(const plan::Plan &plan) {
  std::set<std::string> trained;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      if (parameter.trainable()) {
        trained.insert(parameter.name());
      }
    }
  }
  return trained;
}

} // namespace

absl::StatusOr<GivenStates> GivenStates::of(const plan::Plan &plan, Role role,
                                            const TensorFile &arrays,
                                            bool all) {
  WeightFileOptions options;
  options.role = role;
  std::map<std::string, SafetensorsWriter::Entry> entries;
  std::vector<std::string> names, problems;
  for (SafetensorsWriter::Entry &entry : weightEntries(plan, options)) {
    names.push_back(entry.name);
    entries.emplace(entry.name, std::move(entry));
  }
  std::set<std::string> trained = trainedOf(plan);
  for (const auto &[name, extent] : arrays) {
    auto wanted = entries.find(name);
    if (wanted == entries.end()) {
      const std::string *meant = nearest(name, names);
      problems.push_back(absl::StrCat(
          "there is no '", name, "'",
          meant ? absl::StrCat("; did you mean '", *meant, "'?") : ""));
    } else if (std::string problem = problemOf(name, extent, wanted->second,
                                               trained.count(name) > 0);
               !problem.empty()) {
      problems.push_back(std::move(problem));
    }
  }
  std::vector<std::string> missing;
  for (const std::string &name : names) {
    if (all && arrays.find(name) == arrays.end()) {
      missing.push_back(name);
    }
  }
  if (!missing.empty()) {
    problems.push_back(
        absl::StrCat(missing.size(), " of ", names.size(),
                     " arrays are missing: ", listOf(missing, 5)));
  }
  if (!problems.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "nothing was written:\n  ", linesOf(problems),
        "\n  give arrays with the names, shapes and types of those that are "
        "read"));
  }
  return GivenStates(plan, role, arrays);
}

absl::Status GivenStates::write(const RankMemory &memory) const {
  return forHeld(*plan, memory, [&](const ParameterPart &part) {
    auto found = arrays->find(weightName(*part.parameter, *part.state));
    if (!holds(*part.state, role) || found == arrays->end()) {
      return absl::OkStatus();
    }
    const TensorExtent &extent = found->second;
    uint64_t element = elementSize(extent.type);
    return writePart(
        part, extent.type, [&](uint64_t first, uint64_t count, std::byte *to) {
          std::memcpy(to, bytesOf(extent) + first * element, count * element);
          return absl::OkStatus();
        });
  });
}

std::string GivenStates::digest() const {
  std::string text;
  for (const auto &[name, extent] : *arrays) {
    absl::StrAppend(&text, name, " ", plan::ElementType_Name(extent.type), " ",
                    XXH3_64bits(bytesOf(extent), extent.bytes), "\n");
  }
  return absl::StrCat(absl::Hex(XXH3_64bits(text.data(), text.size())));
}
