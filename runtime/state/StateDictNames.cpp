//===- StateDictNames.cpp - what PyTorch calls the model's tensors --------===//

#include "runtime/state/StateDictNames.h"

#include "runtime/base/Text.h"
#include "runtime/io/TensorFile.h"

#include <nlohmann/json.hpp>

#include <optional>

using namespace zerograph;
using nlohmann::json;

namespace {

/// In bytes. What is longer is another file, such as one of weights.
constexpr uint64_t kLongestMap = 100'000'000;

/// "name", or {"name": "name", "transposed": true}.
std::optional<StateDictName> parseName(const json &value) {
  StateDictName name;
  if (value.is_string()) {
    name.name = value.get<std::string>();
  } else if (value.is_object() && value.size() == 2 && value.contains("name") &&
             value["name"].is_string() && value.contains("transposed") &&
             value["transposed"].is_boolean()) {
    name.name = value["name"].get<std::string>();
    name.transposed = value["transposed"].get<bool>();
  }
  return name.name.empty() ? std::nullopt : std::make_optional(name);
}

absl::Status noMap(const std::string &path, const std::string &what) {
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": no map of names: ", what,
      "; expected {\"INITIALIZER\": \"NAME\", \"INITIALIZER\": {\"name\": "
      "\"NAME\", \"transposed\": true}, ...}"));
}

/// An object whose keys are all different.
absl::StatusOr<json> readMap(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<File> file, File::openForReading(path));
  if (file->bytes() > kLongestMap) {
    return noMap(path, absl::StrCat("it has ", file->bytes(), " bytes"));
  }
  std::string text(file->bytes(), '\0');
  ZG_RETURN_IF_ERROR(file->read(0, text.size(), text.data()));
  std::set<std::string> keys;
  std::string twice;
  bool deep = false;
  auto watch = [&](int depth, json::parse_event_t event, json &value) {
    deep |= depth > 2;
    if (event == json::parse_event_t::key && depth == 1 &&
        !keys.insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return true;
  };
  json map = json::parse(text, watch, /*allow_exceptions=*/false);
  if (map.is_discarded() || !map.is_object() || deep) {
    return noMap(path, "it is no JSON object of texts");
  }
  if (!twice.empty()) {
    return noMap(path, absl::StrCat("'", twice, "' is there twice"));
  }
  return map;
}

} // namespace

absl::StatusOr<std::vector<uint64_t>>
StateDictName::shapeOf(const std::vector<uint64_t> &shape) const {
  if (!transposed) {
    return shape;
  }
  if (shape.size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("--names says that '", name,
                     "' is transposed, which only a matrix can be: its shape "
                     "is ",
                     shapeText(shape)));
  }
  return std::vector<uint64_t>{shape[1], shape[0]};
}

absl::StatusOr<StateDictNames> StateDictNames::read(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(json map, readMap(path));
  StateDictNames made;
  made.path = path;
  std::map<std::string, std::string> initializers;
  for (const auto &[key, value] : map.items()) {
    std::optional<StateDictName> name = parseName(value);
    if (!name) {
      return noMap(path, absl::StrCat("'", key, "' has none"));
    }
    if (auto [other, fresh] = initializers.emplace(name->name, key); !fresh) {
      return noMap(path, absl::StrCat("'", other->second, "' and '", key,
                                      "' are both '", name->name, "'"));
    }
    made.names.emplace(key, *name);
  }
  return made;
}

StateDictName StateDictNames::of(const std::string &initializer) const {
  auto found = names.find(initializer);
  return found == names.end() ? StateDictName{initializer} : found->second;
}

std::string
StateDictNames::others(const std::set<std::string> &initializers) const {
  std::vector<std::string> others;
  for (const auto &[initializer, name] : names) {
    if (initializers.count(initializer) == 0) {
      others.push_back(absl::StrCat("'", initializer, "'"));
    }
  }
  if (others.empty()) {
    return "";
  }
  return absl::StrCat(path, ": ", others.size(), " of ", names.size(),
                      " names have no effect, since no tensor is called so: ",
                      listOf(others, 5));
}
