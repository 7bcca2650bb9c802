//===- ProbeFolder.h - what a folder offers files of ranks ----------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_FILE_PROBEFOLDER_H
#define ZEROGRAPH_RUNTIME_DEVICE_FILE_PROBEFOLDER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace zerograph {

/// What a folder offers files of ranks.
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

#endif // ZEROGRAPH_RUNTIME_DEVICE_FILE_PROBEFOLDER_H
