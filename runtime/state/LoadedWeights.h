//===- LoadedWeights.h - a file of weights, by the model's names ----------===//

#ifndef ZEROGRAPH_RUNTIME_STATE_LOADEDWEIGHTS_H
#define ZEROGRAPH_RUNTIME_STATE_LOADEDWEIGHTS_H

#include "runtime/io/TensorFile.h"
#include "runtime/state/StateDictNames.h"

#include <map>
#include <string>
#include <vector>

namespace zerograph {

/// A tensor of a file, as a weight of the model.
struct FileWeight {
  TensorExtent extent; // as it lies in the file
  StateDictName as;    // what the file calls it, and whether it transposed it
  std::vector<uint64_t> shape; // as the model has it
  bool mapped = false;         // its name is one of the map's

  /// Reads elements [first, first + count) as the model has them, of the
  /// extent's type. Of a tensor that is transposed each call reads all, see
  /// readTransposed. Thread-safe.
  absl::Status read(uint64_t first, uint64_t count, std::byte *to) const;
};

/// The weights that a file has for a model.
struct LoadedWeights {
  std::string path, map; // the map's is empty where there is none
  /// By the names of initializers: those of the map or, where it does not say,
  /// the tensors' own.
  std::map<std::string, FileWeight> weights;
  /// Tensors called as an initializer that the map calls otherwise.
  std::vector<std::string> hidden;

  bool empty() const { return weights.empty() && hidden.empty(); }
  /// Null where there is none.
  const FileWeight *find(const std::string &initializer) const;
};

/// Returns what a .safetensors or .npz file holds by the names of the map in
/// the file `map`, or by its own if that is empty. An error where
/// it lacks a tensor that the map names. Reads headers only; `metadata` may be
/// null.
absl::StatusOr<LoadedWeights> loadWeights(const std::string &path,
                                          const std::string &map,
                                          Metadata *metadata = nullptr);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_STATE_LOADEDWEIGHTS_H
