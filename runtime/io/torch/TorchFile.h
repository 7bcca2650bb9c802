//===- TorchFile.h - a file that torch.save wrote -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TORCH_TORCHFILE_H
#define ZEROGRAPH_RUNTIME_IO_TORCH_TORCHFILE_H

#include "runtime/io/TensorFile.h"
#include "runtime/io/torch/Pickle.h"
#include "runtime/io/torch/ZipFile.h"

namespace zerograph {

/// A file that torch.save wrote, in the format of PyTorch 1.6 and later: a ZIP
/// file of a pickle and of storages, which tensors are parts of. Nothing in it
/// is executed. Immutable, so any thread may use it.
class TorchFile {
public:
  /// `classes`: names of classes, beside those of tensors, whose objects it may
  /// have; they are read as data.
  static absl::StatusOr<std::unique_ptr<TorchFile>>
  open(const std::string &path, std::set<std::string> classes = {});

  const std::string &path() const { return file->path(); }
  const PickleValue &root() const { return pickle->root(); }

  /// Returns whether a value is a tensor, or a parameter.
  static bool isTensor(const PickleValue &value);
  /// Returns where the elements of a tensor lie. A view whose elements do not
  /// follow one another is refused. `name` is the tensor's, for errors.
  absl::StatusOr<TensorExtent> tensor(const PickleValue &value,
                                      const std::string &name) const;

private:
  TorchFile() = default;
  absl::StatusOr<ZipEntry> storage(const PickleValue &id,
                                   plan::ElementType &type,
                                   const std::string &name) const;
  absl::Status bad(const std::string &name, const std::string &what) const;

  std::shared_ptr<File> file;
  std::string folder; // in the ZIP file, which all entries lie in
  ZipEntries entries;
  std::unique_ptr<Pickle> pickle;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_TORCH_TORCHFILE_H
