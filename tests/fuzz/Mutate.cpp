//===- Mutate.cpp - changes protobuf messages as messages -----------------===//

#include "tests/fuzz/Mutate.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/logging.h>

#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

using namespace google::protobuf;

namespace zerograph::fuzz {
namespace {

using Random = std::minstd_rand;
using Kind = FieldDescriptor::CppType;

/// One field of one message of the tree.
struct Place {
  Message *message;
  const FieldDescriptor *field;
};

size_t below(Random &random, size_t count) { return random() % count; }

/// Every field of the tree: those that are set, and, where `unset`, those that
/// could be.
void collect(Message &message, bool unset, std::vector<Place> &places) {
  const Reflection *reflection = message.GetReflection();
  const Descriptor *type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor *field = type->field(i);
    bool set = field->is_repeated() ? reflection->FieldSize(message, field) > 0
                                    : reflection->HasField(message, field);
    if (set || unset) {
      places.push_back({&message, field});
    }
    if (!set || field->cpp_type() != Kind::CPPTYPE_MESSAGE) {
      continue;
    }
    if (!field->is_repeated()) {
      collect(*reflection->MutableMessage(&message, field), unset, places);
      continue;
    }
    for (int k = 0; k < reflection->FieldSize(message, field); ++k) {
      collect(*reflection->MutableRepeatedMessage(&message, field, k), unset,
              places);
    }
  }
}

/// Numbers that code forgets: ends of ranges, and sums that wrap around.
int64_t integer(Random &random, int64_t old) {
  static constexpr int64_t kOdd[] = {0,
                                     1,
                                     -1,
                                     2,
                                     3,
                                     7,
                                     16,
                                     127,
                                     128,
                                     255,
                                     1 << 16,
                                     int64_t(1) << 31,
                                     (int64_t(1) << 31) - 1,
                                     int64_t(1) << 32,
                                     -(int64_t(1) << 31),
                                     int64_t(1) << 40,
                                     int64_t(1) << 62,
                                     std::numeric_limits<int64_t>::max(),
                                     std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::min() + 1};
  switch (below(random, 4)) {
  case 0:
    return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
  case 1:
    return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
  case 2:
    return static_cast<int64_t>(below(random, 20)) - 4;
  default:
    return kOdd[below(random, std::size(kOdd))];
  }
}

double real(Random &random, double old) {
  const double odd[] = {0,
                        -0.0,
                        1,
                        -1,
                        0.5,
                        1e-300,
                        1e300,
                        3e38,
                        old / 2,
                        -old,
                        old + 1,
                        std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity()};
  return odd[below(random, std::size(odd))];
}

std::string text(Random &random, const std::string &old,
                 const std::vector<std::string> &others) {
  // A name of the same message is what makes another graph.
  if (!others.empty() && below(random, 4) != 0) {
    return others[below(random, others.size())];
  }
  std::string bytes = old;
  size_t size = old.size();
  bytes.resize(size + 16);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(bytes.data()), size,
                                bytes.size()));
  return bytes;
}

std::vector<std::string> textsOf(const std::vector<Place> &places) {
  std::vector<std::string> texts;
  for (const Place &place : places) {
    if (place.field->cpp_type() != Kind::CPPTYPE_STRING) {
      continue;
    }
    const Reflection *reflection = place.message->GetReflection();
    if (!place.field->is_repeated()) {
      texts.push_back(reflection->GetString(*place.message, place.field));
      continue;
    }
    int size = reflection->FieldSize(*place.message, place.field);
    for (int k = 0; k < size; ++k) {
      texts.push_back(
          reflection->GetRepeatedString(*place.message, place.field, k));
    }
  }
  return texts;
}

/// Gives element `at` of a field (-1: the field, or a new element) a value.
void setValue(const Place &place, int at, Random &random,
              const std::vector<std::string> &texts) {
  Message *message = place.message;
  const FieldDescriptor *field = place.field;
  const Reflection *r = message->GetReflection();
  auto set = [&](auto old, auto change, auto setOne, auto setAt, auto add) {
    if (!field->is_repeated()) {
      (r->*setOne)(message, field, change(old(-1)));
    } else if (at < 0) {
      (r->*add)(message, field, change({}));
    } else {
      (r->*setAt)(message, field, at, change(old(at)));
    }
  };
#define ZG_SCALAR(NAME, GET, CHANGE)                                           \
  set(                                                                         \
      [&](int k) -> decltype(r->Get##GET(*message, field)) {                   \
        return k < 0 ? r->Get##GET(*message, field)                            \
                     : r->GetRepeated##GET(*message, field, k);                \
      },                                                                       \
      CHANGE, &Reflection::Set##GET, &Reflection::SetRepeated##GET,            \
      &Reflection::Add##GET)
  auto whole = [&](auto old) -> decltype(old) {
    return static_cast<decltype(old)>(
        integer(random, static_cast<int64_t>(old)));
  };
  switch (field->cpp_type()) {
  case Kind::CPPTYPE_INT32:
    return ZG_SCALAR(INT32, Int32, [&](int32_t v) { return whole(v); });
  case Kind::CPPTYPE_INT64:
    return ZG_SCALAR(INT64, Int64, [&](int64_t v) { return whole(v); });
  case Kind::CPPTYPE_UINT32:
    return ZG_SCALAR(UINT32, UInt32, [&](uint32_t v) { return whole(v); });
  case Kind::CPPTYPE_UINT64:
    return ZG_SCALAR(UINT64, UInt64, [&](uint64_t v) { return whole(v); });
  case Kind::CPPTYPE_BOOL:
    return ZG_SCALAR(BOOL, Bool, [](bool v) { return !v; });
  case Kind::CPPTYPE_DOUBLE:
    return ZG_SCALAR(DOUBLE, Double, [&](double v) { return real(random, v); });
  case Kind::CPPTYPE_FLOAT:
    return ZG_SCALAR(FLOAT, Float, [&](float v) {
      return static_cast<float>(std::min(3e38, real(random, v)));
    });
  case Kind::CPPTYPE_ENUM:
    return ZG_SCALAR(ENUM, EnumValue, [&](int v) {
      return field->enum_type()
          ->value(static_cast<int>(
              below(random, field->enum_type()->value_count())))
          ->number();
    });
  case Kind::CPPTYPE_STRING:
    return ZG_SCALAR(STRING, String, [&](const std::string &v) {
      return text(random, v, texts);
    });
  case Kind::CPPTYPE_MESSAGE:
    if (field->is_repeated()) {
      r->AddMessage(message, field);
    } else {
      r->MutableMessage(message, field);
    }
  }
#undef ZG_SCALAR
}

/// An element of `from` is copied to one of `to`, of the same kind.
bool copyElement(const Place &to, const Place &from, Random &random) {
  const Reflection *r = to.message->GetReflection();
  const Reflection *other = from.message->GetReflection();
  if (to.field->cpp_type() != Kind::CPPTYPE_MESSAGE ||
      from.field->message_type() != to.field->message_type()) {
    return false;
  }
  // Copied first: one may lie inside of the other.
  int size = from.field->is_repeated()
                 ? other->FieldSize(*from.message, from.field)
                 : 1;
  if (size == 0) {
    return false;
  }
  const Message &source =
      from.field->is_repeated()
          ? other->GetRepeatedMessage(*from.message, from.field,
                                      static_cast<int>(below(random, size)))
          : other->GetMessage(*from.message, from.field);
  std::unique_ptr<Message> copy(source.New());
  copy->CopyFrom(source);
  Message *target = to.field->is_repeated()
                        ? r->AddMessage(to.message, to.field)
                        : r->MutableMessage(to.message, to.field);
  target->CopyFrom(*copy);
  return true;
}

void changeOnce(Message &message, Random &random) {
  std::vector<Place> places;
  collect(message, /*unset=*/below(random, 4) == 0, places);
  if (places.empty()) {
    return;
  }
  Place place = places[below(random, places.size())];
  const Reflection *r = place.message->GetReflection();
  bool repeated = place.field->is_repeated();
  int size = repeated ? r->FieldSize(*place.message, place.field) : 0;
  int at = size == 0 ? -1 : static_cast<int>(below(random, size));
  switch (below(random, 8)) {
  case 0: // drop
    if (size > 0) {
      r->SwapElements(place.message, place.field, at, size - 1);
      r->RemoveLast(place.message, place.field);
    } else {
      r->ClearField(place.message, place.field);
    }
    return;
  case 1: // swap
    if (size > 1) {
      r->SwapElements(place.message, place.field, at,
                      static_cast<int>(below(random, size)));
      return;
    }
    break;
  case 2: // copy from elsewhere
    for (int trial = 0; trial < 8; ++trial) {
      if (copyElement(place, places[below(random, places.size())], random)) {
        return;
      }
    }
    break;
  case 3: // one more
    at = -1;
    break;
  default:
    break;
  }
  if (at >= 0 && place.field->cpp_type() == Kind::CPPTYPE_MESSAGE) {
    return changeOnce(
        *r->MutableRepeatedMessage(place.message, place.field, at), random);
  }
  setValue(place, at, random, textsOf(places));
}

size_t put(const Message &message, const uint8_t *old, size_t oldSize,
           uint8_t *out, size_t maxSize) {
  size_t size = message.ByteSizeLong();
  if (size > maxSize) {
    std::copy(old, old + std::min(oldSize, maxSize), out);
    return std::min(oldSize, maxSize);
  }
  message.SerializePartialToArray(out, static_cast<int>(size));
  return size;
}

} // namespace

size_t mutateMessage(Message &message, uint8_t *data, size_t size,
                     size_t maxSize, unsigned seed) {
  LogSilencer silencer;
  Random random(seed);
  if (below(random, 16) == 0 ||
      !message.ParsePartialFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  for (size_t changes = 1 + below(random, 3); changes > 0; --changes) {
    changeOnce(message, random);
  }
  std::vector<uint8_t> old(data, data + size);
  return put(message, old.data(), old.size(), data, maxSize);
}

size_t crossMessages(Message &a, Message &b, const uint8_t *dataA, size_t sizeA,
                     const uint8_t *dataB, size_t sizeB, uint8_t *out,
                     size_t maxSize, unsigned seed) {
  LogSilencer silencer;
  Random random(seed);
  a.ParsePartialFromArray(dataA, static_cast<int>(sizeA));
  b.ParsePartialFromArray(dataB, static_cast<int>(sizeB));
  std::vector<Place> into, from;
  collect(a, /*unset=*/true, into);
  collect(b, /*unset=*/false, from);
  for (int trial = 0; trial < 64 && !into.empty() && !from.empty(); ++trial) {
    if (copyElement(into[below(random, into.size())],
                    from[below(random, from.size())], random)) {
      break;
    }
  }
  return put(a, dataA, sizeA, out, maxSize);
}

} // namespace zerograph::fuzz
