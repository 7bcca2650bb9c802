//===- OutputPath.h - may a file get this name? ---------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_OUTPUTPATH_H
#define ZEROGRAPH_RUNTIME_BASE_OUTPUTPATH_H

#include "runtime/base/Status.h"

#include <filesystem>
#include <string>

namespace zerograph {

/// Returns an error if the folder that `path` is to be in is not there.
inline absl::Status checkParentFolder(const std::filesystem::path &path) {
  std::error_code error;
  std::filesystem::path folder = path.parent_path();
  return folder.empty() || std::filesystem::is_directory(folder, error)
             ? absl::OkStatus()
             : absl::NotFoundError(absl::StrCat(
                   path.string(), ": cannot be written: there is no folder ",
                   folder.string(),
                   error && error != std::errc::no_such_file_or_directory
                       ? absl::StrCat(" (", error.message(), ")")
                       : ""));
}

/// An error if no finished file can be renamed to `path`: its folder is not
/// there, or what has the name now is a folder, a device or a pipe, which the
/// rename would fail on or replace. Asked before the work, not after it.
inline absl::Status checkOutputPath(const std::string &path) {
  std::error_code error;
  if (path.empty()) {
    return absl::InvalidArgumentError("a file to write has an empty name");
  }
  ZG_RETURN_IF_ERROR(checkParentFolder(path));
  std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": cannot be written: it is a folder"));
  }
  if (std::filesystem::exists(status) &&
      !std::filesystem::is_regular_file(status)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": cannot be written: it is a device or a pipe; a file is made "
              "beside it first and takes its name when complete"));
  }
  return absl::OkStatus();
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_OUTPUTPATH_H
