//===- JsonFields.h - what an object of JSON has, checked -----------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_JSONFIELDS_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_JSONFIELDS_H

#include "runtime/base/Status.h"
#include "runtime/io/TensorFile.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

namespace zerograph {

/// The largest count of bytes, elements and steps: sums of a few of them do not
/// overflow.
inline constexpr uint64_t kMostCount = uint64_t(1) << 62;

/// The fields of one JSON object. What is wrong first is kept, and every field
/// read after that is empty.
class JsonFields {
public:
  JsonFields(const nlohmann::json &object, std::string where)
      : object(object), where(std::move(where)) {
    if (!object.is_object()) {
      fail("is no object");
    }
  }

  const absl::Status &status() const { return problem; }
  bool has(const char *key) const {
    return object.is_object() && object.contains(key);
  }

  uint64_t number(const char *key,
                  uint64_t most = std::numeric_limits<uint64_t>::max()) {
    const nlohmann::json *value = find(key);
    if (!value || !value->is_number_unsigned() ||
        value->get<uint64_t>() > most) {
      fail(absl::StrCat("has no natural number '", key, "'",
                        value ? absl::StrCat(" up to ", most) : ""));
      return 0;
    }
    return value->get<uint64_t>();
  }
  int64_t integer(const char *key) {
    const nlohmann::json *value = find(key);
    if (!value || !value->is_number_integer() ||
        (value->is_number_unsigned() &&
         value->get<uint64_t>() > uint64_t(kMostCount))) {
      fail(absl::StrCat("has no whole number '", key, "'"));
      return 0;
    }
    return value->get<int64_t>();
  }
  double real(const char *key) {
    const nlohmann::json *value = find(key);
    if (!value || !value->is_number()) {
      fail(absl::StrCat("has no number '", key, "'"));
      return 0;
    }
    return value->get<double>();
  }
  std::string text(const char *key) {
    const nlohmann::json *value = find(key);
    if (!value || !value->is_string()) {
      fail(absl::StrCat("has no text '", key, "'"));
      return "";
    }
    return value->get<std::string>();
  }
  uint64_t checksum(const char *key) { return hex(text(key), key); }
  plan::ElementType type(const char *key) {
    plan::ElementType type = safetensorsType(text(key));
    if (type == plan::ELEMENT_INVALID) {
      fail(absl::StrCat("has an unknown '", key, "'"));
    }
    return type;
  }
  /// An array; an empty one where there is none.
  const nlohmann::json &array(const char *key) {
    static const nlohmann::json none = nlohmann::json::array();
    const nlohmann::json *value = find(key);
    if (!value || !value->is_array()) {
      fail(absl::StrCat("has no list '", key, "'"));
      return none;
    }
    return *value;
  }
  std::vector<uint64_t> numbers(const char *key) {
    std::vector<uint64_t> values;
    for (const nlohmann::json &value : array(key)) {
      if (!value.is_number_unsigned()) {
        fail(absl::StrCat("has what is no natural number in '", key, "'"));
        return {};
      }
      values.push_back(value.get<uint64_t>());
    }
    return values;
  }
  std::vector<uint64_t> checksums(const char *key) {
    std::vector<uint64_t> values;
    for (const nlohmann::json &value : array(key)) {
      values.push_back(
          hex(value.is_string() ? value.get<std::string>() : "", key));
    }
    return values;
  }
  const nlohmann::json &value(const char *key) { return object.at(key); }

  void fail(const std::string &what) {
    if (problem.ok()) {
      problem = absl::InvalidArgumentError(absl::StrCat(where, " ", what));
    }
  }

private:
  const nlohmann::json *find(const char *key) const {
    return problem.ok() && has(key) ? &object.at(key) : nullptr;
  }
  uint64_t hex(const std::string &digits, const char *key) {
    uint64_t number = 0;
    if (digits.size() == 16 &&
        digits.find_first_not_of("0123456789abcdef") == std::string::npos) {
      number = std::strtoull(digits.c_str(), nullptr, 16);
    } else {
      fail(absl::StrCat("has what is no checksum in '", key, "'"));
    }
    return number;
  }

  const nlohmann::json &object;
  std::string where;
  absl::Status problem;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_JSONFIELDS_H
