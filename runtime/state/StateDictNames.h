//===- StateDictNames.h - what PyTorch calls the model's tensors ----------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_STATEDICTNAMES_H
#define ZEROGRAPH_RUNTIME_STATE_STATEDICTNAMES_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace zerograph {

/// A tensor as state_dict() has it.
struct StateDictName {
  std::string name;
  /// It is a matrix, and the model's is its transpose.
  bool transposed = false;

  /// Returns the shape of the tensor whose shape in the model this is. An error
  /// if that cannot be transposed.
  absl::StatusOr<std::vector<uint64_t>>
  shapeOf(const std::vector<uint64_t> &shape) const;
};

/// The file of `--names`: by the name of an initializer, what PyTorch calls it.
/// Without a file, and where a file does not say, names are the same.
class StateDictNames {
public:
  /// Refuses what is no map, and two tensors of one name.
  static absl::StatusOr<StateDictNames> read(const std::string &path);

  bool empty() const { return names.empty(); }
  /// Returns what the file says, by initializer.
  const std::map<std::string, StateDictName> &all() const { return names; }
  StateDictName of(const std::string &initializer) const;
  /// Initializers in the file that are none of these, for a note; empty: none.
  std::string others(const std::set<std::string> &initializers) const;

private:
  std::string path;
  std::map<std::string, StateDictName> names;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_STATEDICTNAMES_H
