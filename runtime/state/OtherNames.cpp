//===- OtherNames.cpp - a weight that a file names otherwise --------------===//

#include "runtime/state/OtherNames.h"

#include "runtime/state/Adapters.h"

#include "absl/strings/str_cat.h"

#include <map>
#include <set>

using namespace zerograph;

namespace {

/// By shape.
using Names = std::map<std::vector<uint64_t>, std::vector<std::string>>;

/// Trained parameters that the file lacks.
Names lackedBy(const LoadedWeights &loaded, const plan::Plan &plan) {
  Names lacked;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      if (loaded.find(parameter.name()) == nullptr && parameter.trainable() &&
          !isOfAdapter(parameter)) {
        lacked[{parameter.shape().begin(), parameter.shape().end()}].push_back(
            parameter.name());
      }
    }
  }
  return lacked;
}

/// The names that the plan does not know: by the map, and else.
struct Left {
  Names mapped, others;
};

Left leftIn(const LoadedWeights &loaded, const plan::Plan &plan) {
  std::set<std::string> names;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      names.insert(parameter.name());
    }
  }
  Left left;
  for (const auto &[name, weight] : loaded.weights) {
    if (!names.count(name)) {
      (weight.mapped ? left.mapped : left.others)[weight.shape].push_back(name);
    }
  }
  return left;
}

} // namespace

std::vector<std::string> zerograph::otherNames(const plan::Plan &plan,
                                               const LoadedWeights &loaded) {
  Left left = leftIn(loaded, plan);
  std::vector<std::string> pairs;
  for (const auto &[shape, lacks] : lackedBy(loaded, plan)) {
    auto mapped = left.mapped.find(shape), other = left.others.find(shape);
    const std::string *name = nullptr;
    if (mapped != left.mapped.end()) {
      name = &mapped->second[0];
    } else if (shape.size() > 1 && lacks.size() == 1 &&
               other != left.others.end() && other->second.size() == 1) {
      name = &other->second[0];
    }
    if (name != nullptr) {
      pairs.push_back(absl::StrCat("'", lacks[0], "' ", shapeText(shape),
                                   " is not in it, '", *name, "' is"));
    }
  }
  return pairs;
}
