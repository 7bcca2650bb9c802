//===- Beneath.h - opens what a file names beside itself ------------------===//
//
// A model, or a plan made from one, says in which files its weights lie. It may
// come from anybody, so what it says must not lead out of its folder: not by
// its words, not by links, and not by a link that is put there between the
// check and the opening. Each folder on the way is opened from the one above.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_BENEATH_H
#define ZEROGRAPH_RUNTIME_BASE_BENEATH_H

#include "runtime/base/Status.h"

#include "absl/strings/str_split.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace zerograph {

/// Checks that the words of `file` stay in the folder they are relative to.
inline absl::Status checkBeneath(const std::string &file) {
  if (file.empty()) {
    return absl::InvalidArgumentError("is empty");
  }
  if (file[0] == '/' || file.find('\\') != std::string::npos ||
      file.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("is not a relative path with '/'");
  }
  for (absl::string_view part : absl::StrSplit(file, '/')) {
    if (part == "..") {
      return absl::InvalidArgumentError("leaves the model's folder");
    }
  }
  return absl::OkStatus();
}

/// A descriptor of the regular file `file`, a relative path, below `folder`
/// ("": the current one), for reading; `info` is what it is. The caller closes
/// it. Errors go on after the name of the file: "leaves the model's folder".
/// Not found is an error of that kind.
inline absl::StatusOr<int> openBeneath(const std::string &folder,
                                       const std::string &file,
                                       struct stat &info) {
  ZG_RETURN_IF_ERROR(checkBeneath(file));
  auto failed = [](int parent, const std::string &part, int error) {
    struct stat link = {};
    bool isLink =
        fstatat(parent, part.c_str(), &link, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(link.st_mode);
    if (isLink) {
      return absl::InvalidArgumentError(
          "goes through a symbolic link, which external data may not");
    }
    std::string why = absl::StrCat("cannot be opened: ", std::strerror(error));
    return error == ENOENT || error == ENOTDIR
               ? absl::NotFoundError(why)
               : absl::PermissionDeniedError(why);
  };
  int at = open(folder.empty() ? "." : folder.c_str(),
                O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) {
    return failed(AT_FDCWD, folder, errno);
  }
  std::vector<std::string> parts = absl::StrSplit(file, '/', absl::SkipEmpty());
  for (size_t i = 0; i < parts.size(); ++i) {
    bool last = i + 1 == parts.size();
    // A pipe must not make us wait for a writer.
    int next =
        openat(at, parts[i].c_str(),
               O_CLOEXEC | O_NOFOLLOW |
                   (last ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY));
    absl::Status status =
        next < 0 ? failed(at, parts[i], errno) : absl::OkStatus();
    close(at);
    ZG_RETURN_IF_ERROR(status);
    at = next;
  }
  const char *wrong = nullptr;
  if (fstat(at, &info) != 0 || !S_ISREG(info.st_mode)) {
    wrong = "is not a regular file";
  } else if (info.st_nlink > 1) {
    // Its other name may be a file that the model's maker could not read.
    wrong = "is a hard link, which external data may not be: copy the file";
  }
  if (wrong != nullptr) {
    close(at);
    return absl::InvalidArgumentError(wrong);
  }
  return at;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_BENEATH_H
