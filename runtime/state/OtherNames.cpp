//===- OtherNames.cpp - a weight that a file names otherwise --------------===//

#include "runtime/state/OtherNames.h"

#include "runtime/state/Adapters.h"

#include "absl/strings/str_cat.h"

#include <map>
#include <set>

using namespace zerograph;

std::vector<std::string> zerograph::otherNames(const plan::Plan &plan,
                                               const TensorFile &loaded) {
  std::map<std::string, std::vector<std::string>> lacked, left; // by shape
  std::set<std::string> names;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      names.insert(parameter.name());
      if (!loaded.count(parameter.name()) && parameter.trainable() &&
          !isOfAdapter(parameter) && parameter.shape_size() > 1) {
        lacked[shapeText(std::vector<uint64_t>(parameter.shape().begin(),
                                               parameter.shape().end()))]
            .push_back(parameter.name());
      }
    }
  }
  for (const auto &[name, extent] : loaded) {
    if (!names.count(name)) {
      left[shapeText(extent.shape)].push_back(name);
    }
  }
  std::vector<std::string> pairs;
  for (const auto &[shape, lacks] : lacked) {
    auto found = left.find(shape);
    if (lacks.size() == 1 && found != left.end() && found->second.size() == 1) {
      pairs.push_back(absl::StrCat("'", lacks[0], "' ", shape,
                                   " is not in it, '", found->second[0],
                                   "' is"));
    }
  }
  return pairs;
}
