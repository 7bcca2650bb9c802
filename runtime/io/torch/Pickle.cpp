//===- Pickle.cpp - the values of a pickle, which nothing executes --------===//

#include "runtime/io/torch/Pickle.h"

using namespace zerograph;
using Kind = PickleValue::Kind;

namespace {

bool hasItems(const PickleValue &value) {
  return value.kind == Kind::List || value.kind == Kind::Tuple;
}

} // namespace

bool PickleValue::isMapping() const {
  return kind == Kind::Dictionary ||
         (kind == Kind::Object && text == kOrderedDictionary);
}

const PickleValue *PickleValue::find(absl::string_view key) const {
  // The last one counts, as in Python.
  for (size_t i = isMapping() ? items.size() : 0; i >= 2; i -= 2) {
    const PickleValue &own = *items[i - 2];
    if (own.kind == Kind::Text && own.text == key) {
      return items[i - 1];
    }
  }
  return nullptr;
}

const PickleValue *PickleValue::at(size_t index) const {
  return hasItems(*this) && index < items.size() ? items[index] : nullptr;
}

std::string PickleValue::describe() const {
  switch (kind) {
  case Kind::None:
    return "None";
  case Kind::Boolean:
    return integer != 0 ? "True" : "False";
  case Kind::Integer:
    return absl::StrCat("the number ", integer);
  case Kind::Real:
    return absl::StrCat("the number ", real);
  case Kind::Text:
    return "a text";
  case Kind::List:
    return "a list";
  case Kind::Tuple:
    return "a tuple";
  case Kind::Dictionary:
    return "a dictionary";
  case Kind::Global:
    return text;
  case Kind::Object:
    return absl::StrCat("an object of ", text);
  case Kind::Persistent:
    return "a storage";
  }
  return "";
}
