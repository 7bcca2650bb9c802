//===- Shard.h - one file of a run's samples ------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_SHARD_H
#define ZEROGRAPH_RUNTIME_IO_SHARD_H

#include "runtime/io/TensorFile.h"

namespace zerograph {

/// The files that `paths` stand for, in order: a folder of .safetensors, .npz
/// or .parquet files becomes these, in the order of their names' bytes. A
/// folder of .npy files is one file.
absl::StatusOr<std::vector<std::string>>
shardFiles(const std::vector<std::string> &paths);

/// The arrays of the first of these files.
absl::StatusOr<TensorFile> firstArrays(const std::vector<std::string> &paths);

/// A file with an array for each input of a plan.
struct Shard {
  std::string path;
  std::vector<TensorExtent> arrays; // of the plan's inputs, in their order
  std::vector<std::string> extra;   // names of arrays that are no input
  /// The same number in all arrays that have samples; 0: none has.
  uint64_t samples = 0;

  /// Opens `path` and checks every input's array: presence, type and shape. One
  /// error lists all problems.
  static absl::StatusOr<Shard> open(const std::string &path,
                                    const plan::Plan &plan);
  /// Does the same with arrays that are open; `path` is what errors call them.
  static absl::StatusOr<Shard> of(const std::string &path,
                                  const TensorFile &tensors,
                                  const plan::Plan &plan);
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_SHARD_H
