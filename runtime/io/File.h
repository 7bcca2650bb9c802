//===- File.h - a file read by extents ------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_FILE_H
#define ZEROGRAPH_RUNTIME_IO_FILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace zerograph {

/// An open file, or bytes in memory that are read as one. Several threads may
/// read and write at once; errors name it.
class File {
public:
  static absl::StatusOr<std::shared_ptr<File>>
  openForReading(const std::string &path);
  /// The file that a model's external data names, relative to its `folder`:
  /// see Beneath.h for what is refused.
  static absl::StatusOr<std::shared_ptr<File>>
  openBeneath(const std::string &folder, const std::string &file);
  /// A new file of `bytes` bytes with its space reserved; an old one is
  /// emptied. Where the disk is full there is an error and no file.
  static absl::StatusOr<std::shared_ptr<File>> create(const std::string &path,
                                                      uint64_t bytes);
  /// A new file of `bytes` bytes without a name, in $TMPDIR or /tmp, gone when
  /// it is closed. `path`: of what it holds, for errors.
  static absl::StatusOr<std::shared_ptr<File>>
  temporary(const std::string &path, uint64_t bytes);
  /// Gives the caller's bytes this name, to be read only; they outlive it.
  static std::shared_ptr<File> ofMemory(std::string name, const void *data,
                                        uint64_t bytes);
  ~File();
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  const std::string &path() const { return name; }
  uint64_t bytes() const { return size; }

  /// Returns where the bytes lie, if that is memory; else null.
  const std::byte *memory() const { return in_memory; }

  /// Exactly `bytes` bytes at `offset`.
  absl::Status read(uint64_t offset, uint64_t bytes, void *data) const;
  absl::Status write(uint64_t offset, uint64_t bytes, const void *data);
  /// All that was written is on the disk.
  absl::Status sync();

private:
  File(std::string path, int descriptor, uint64_t bytes)
      : name(std::move(path)), descriptor(descriptor), size(bytes) {}

  std::string name;
  int descriptor; // -1: none
  uint64_t size;
  const std::byte *in_memory = nullptr;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_FILE_H
