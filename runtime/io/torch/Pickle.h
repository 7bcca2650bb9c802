//===- Pickle.h - the values of a pickle, which nothing executes ----------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TORCH_PICKLE_H
#define ZEROGRAPH_RUNTIME_IO_TORCH_PICKLE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace zerograph {

/// The class of dictionaries that know an order.
inline constexpr char kOrderedDictionary[] = "collections.OrderedDict";

/// A value of Python. What a pickle would have Python call stays the name of a
/// function or class, with its arguments: who reads it knows what it means.
struct PickleValue {
  enum class Kind {
    None,
    Boolean,
    Integer,
    Real,
    Text,
    List,
    Tuple,
    Dictionary,
    Global,     // a function or class
    Object,     // what it makes of arguments
    Persistent, // what the file has elsewhere
  };
  Kind kind = Kind::None;
  int64_t integer = 0; // of Boolean and Integer
  double real = 0;
  /// The text of Text; of Global and Object the name,
  /// "collections.OrderedDict".
  std::string text;
  /// The items of List and Tuple, or keys and values in turn of Dictionary and
  /// Object.
  std::vector<const PickleValue *> items;
  /// The arguments of Object and Persistent: a Tuple.
  const PickleValue *arguments = nullptr;
  /// The state of Object: what was set besides, if anything was.
  const PickleValue *state = nullptr;
  /// It is a part of another, and does not change any more.
  bool closed = false;

  /// A dictionary, also an OrderedDict.
  bool isMapping() const;
  /// Returns, of a mapping, the value of a key that is a text; null if there is
  /// none.
  const PickleValue *find(absl::string_view key) const;
  /// The item of a list or tuple; null if there is none.
  const PickleValue *at(size_t index) const;
  /// "a list", for errors.
  std::string describe() const;
};

/// The values of a pickle, read by protocol 2 without running anything.
class Pickle {
public:
  /// Parses `bytes`, which lie at `offset` of the file `path`; errors name
  /// both. `globals`: the functions and classes that it may name. Every other
  /// one is refused, as are operations that torch.save does not write. No value
  /// is a part of itself.
  static absl::StatusOr<std::unique_ptr<Pickle>>
  parse(const std::string &path, uint64_t offset, absl::string_view bytes,
        const std::set<std::string> &globals);

  /// Lives as long as this.
  const PickleValue &root() const { return *top; }

private:
  friend class Unpickler;
  Pickle() = default;

  std::deque<PickleValue> values;
  const PickleValue *top = nullptr;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_TORCH_PICKLE_H
