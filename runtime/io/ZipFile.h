//===- ZipFile.h - where the entries of a ZIP file lie --------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_ZIPFILE_H
#define ZEROGRAPH_RUNTIME_IO_ZIPFILE_H

#include "runtime/io/File.h"

#include <map>

namespace zerograph {

/// The bytes of an entry, as they are in the file.
struct ZipEntry {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};
using ZipEntries = std::map<std::string, ZipEntry>;

/// The entries of a ZIP or ZIP64 file that stores them: one that is compressed
/// or encrypted is refused, as is what lies outside of the file. Errors name
/// the file and the byte.
absl::StatusOr<ZipEntries> readZip(const File &file);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_ZIPFILE_H
