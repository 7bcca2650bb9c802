//===- Checkpoint.h - a published checkpoint, opened ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/Index.h"

#include "absl/functional/function_ref.h"

#include <memory>

namespace zerograph {

/// Some elements of a tensor, from the element `first` on.
using ElementsVisitor = absl::FunctionRef<absl::Status(
    uint64_t first, uint64_t count, const std::byte *data)>;

/// A checkpoint whose index has been read. Any thread may read from it.
class Checkpoint {
public:
  /// An error lists all files that are missing or have not the size that they
  /// should have. No bytes of tensors are read.
  static absl::StatusOr<std::unique_ptr<Checkpoint>>
  open(const std::string &path);

  const std::string &path() const { return folder; }
  const CheckpointIndex &index() const { return index_; }
  /// Returns the bytes of all files but the index.
  uint64_t bytes() const;

  /// Null if there is none.
  const CheckpointTensor *find(const std::string &name, bool values,
                               const std::string &role,
                               std::optional<uint32_t> rank) const;

  /// Calls `visit` for elements [first, first + count) of a tensor, in order
  /// and in parts. Reads what has a checksum of its own at once, and compares
  /// it: a difference is an error that names file, tensor and byte.
  absl::Status read(const CheckpointTensor &tensor, uint64_t first,
                    uint64_t count, ElementsVisitor visit) const;

private:
  Checkpoint() = default;
  absl::Status readBlock(const CheckpointTensor &tensor,
                         const CheckpointPiece &piece, uint64_t block,
                         std::vector<std::byte> &bytes) const;

  std::string folder;
  CheckpointIndex index_;
  std::vector<std::shared_ptr<File>> files;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_CHECKPOINT_H
