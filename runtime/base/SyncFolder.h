//===- SyncFolder.h - names that are on the disk --------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_SYNCFOLDER_H
#define ZEROGRAPH_RUNTIME_BASE_SYNCFOLDER_H

#include "runtime/base/Status.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace zerograph {

/// A name in a folder is on the disk once this has returned. An empty path is
/// the working folder.
inline absl::Status syncFolder(const std::string &folder) {
  std::string path = folder.empty() ? "." : folder;
  auto failed = [&](const char *what, int error) {
    return absl::ErrnoToStatus(error, absl::StrCat(path, ": ", what));
  };
  int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return failed("cannot open", errno);
  }
  int error = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  // Some file systems have no such thing.
  return error == 0 || error == EINVAL ? absl::OkStatus()
                                       : failed("cannot write", error);
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_SYNCFOLDER_H
