//===- FileSupport.h - files in which ranks keep states -------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_FILESUPPORT_H
#define ZEROGRAPH_RUNTIME_DEVICE_FILESUPPORT_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace zerograph {

/// Options of arenas that are files.
struct FileOptions {
  std::string folder;
  uint64_t block_bytes = 1 << 20; // of a request at most; whole pages
  unsigned depth = 8;             // requests under way at once
  /// True if io_uring is tried first. Threads read and write elsewhere.
  bool uring = true;
};

/// The support that a folder has for files of ranks.
struct FileSupport {
  std::string filesystem; // "ext4"; empty: of no known name
  uint64_t free = 0;      // bytes
  bool direct = false;    // O_DIRECT
  bool uring = false;     // io_uring
};

/// Looks at the folder, and tries a file there. An error says why none can be
/// made.
absl::StatusOr<FileSupport> probeFolder(const std::string &folder);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_FILESUPPORT_H
