//===- TorchWriter.h - a file that torch.load reads -----------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TORCH_TORCHWRITER_H
#define ZEROGRAPH_RUNTIME_IO_TORCH_TORCHWRITER_H

#include "runtime/io/NewFile.h"
#include "runtime/io/torch/PickleWriter.h"

namespace zerograph {

/// Writes a value and the storages of its tensors, as torch.save does: a ZIP64
/// file of stored entries, each at a multiple of 64 bytes. The same content has
/// the same bytes. Of one thread.
class TorchWriter {
public:
  /// Ends the pickle. Reserves the space: a full disk is an error here, and no
  /// file stays.
  static absl::StatusOr<std::unique_ptr<TorchWriter>>
  create(const std::string &path, PickleWriter pickle);

  /// The next bytes of a storage.
  absl::Status append(size_t storage, const void *data, uint64_t bytes);
  /// Puts the file on the disk under its name. All storages are complete.
  absl::Status commit();

private:
  struct Entry {
    std::string name;
    uint64_t bytes = 0;
    uint64_t header = 0, offset = 0; // in the file
    uint64_t written = 0;
    uint32_t checksum = 0;
  };

  TorchWriter() = default;
  void place(std::string name, uint64_t bytes);
  absl::Status append(Entry &entry, const void *data, uint64_t bytes);
  absl::Status append(size_t entry, absl::string_view text);
  std::string directory() const;

  std::vector<Entry> entries;
  size_t first_storage = 0; // of entries
  uint64_t end = 0;         // of the entries, in the file
  std::unique_ptr<NewFile> file;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_TORCH_TORCHWRITER_H
