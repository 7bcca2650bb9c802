//===- NewFile.h - a file that gets its name when it is whole -------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_NEWFILE_H
#define ZEROGRAPH_RUNTIME_IO_NEWFILE_H

#include "runtime/io/File.h"

#include "absl/strings/string_view.h"

namespace zerograph {

/// A file that is written under a temporary name beside its own, which goes
/// when this does; `commit` gives it its name. Several threads may write.
class NewFile {
public:
  /// Reserves the space: a full disk is an error here, and no file stays.
  static absl::StatusOr<std::unique_ptr<NewFile>>
  create(const std::string &path, uint64_t bytes);
  ~NewFile();
  NewFile(const NewFile &) = delete;
  NewFile &operator=(const NewFile &) = delete;

  const std::string &path() const { return name; }
  uint64_t bytes() const { return file->bytes(); }

  absl::Status write(uint64_t offset, uint64_t bytes, const void *data) {
    return file->write(offset, bytes, data);
  }
  /// Puts the file on the disk under its name. All writes are done.
  absl::Status commit();

private:
  NewFile() = default;

  std::string name;
  std::string temporary; ///< empty: it has its name
  std::shared_ptr<File> file;
};

/// Writes a file of these bytes, as a whole or not at all.
absl::Status writeWholeFile(const std::string &path, absl::string_view bytes);

/// Lists a temporary file, and takes it off the list. `removeTemporaries`
/// removes what is listed, so that a process that a signal ends leaves no such
/// files. Any thread may call both.
void rememberTemporary(const std::string &path);
void forgetTemporary(const std::string &path);

/// Removes the listed files. A signal handler may call it: it only reads and
/// unlinks.
void removeTemporaries();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_NEWFILE_H
