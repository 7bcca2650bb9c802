//===- SafetensorsWriter.h - writes .safetensors by extents ---------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_SAFETENSORSWRITER_H
#define ZEROGRAPH_RUNTIME_IO_SAFETENSORSWRITER_H

#include "runtime/io/NewFile.h"
#include "runtime/io/TensorFile.h"

namespace zerograph {

/// A file that several ranks fill, each its own extents. It has its name only
/// once it is complete; until `commit` there is a temporary file beside it,
/// which goes when the writer does.
class SafetensorsWriter {
public:
  struct Entry {
    std::string name;
    plan::ElementType type = plan::F32;
    std::vector<uint64_t> shape;
  };

  /// Reserves the space: a full disk is an error here, and no file stays.
  /// `metadata`: texts by name, for who reads the file.
  static absl::StatusOr<std::unique_ptr<SafetensorsWriter>>
  create(const std::string &path, std::vector<Entry> entries,
         const Metadata &metadata = {});

  /// Bytes [offset, offset + bytes) of the array `name`. Thread-safe.
  absl::Status write(const std::string &name, uint64_t offset, uint64_t bytes,
                     const void *data);
  /// Returns what the file begins with, before the arrays.
  const std::string &header() const { return header_text; }
  uint64_t bytes() const { return file->bytes(); }
  /// Returns the place of an array's first byte, in the file.
  uint64_t offsetOf(const std::string &name) const {
    return places.at(name).offset;
  }
  /// Puts the file on the disk under its name. All writes are done.
  absl::Status commit() { return file->commit(); }

private:
  SafetensorsWriter() = default;

  std::string header_text;
  std::unique_ptr<NewFile> file;
  struct Place {
    uint64_t offset;
    uint64_t bytes;
  };
  std::map<std::string, Place> places;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_SAFETENSORSWRITER_H
