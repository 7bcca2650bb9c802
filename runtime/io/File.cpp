//===- File.cpp - a file read by extents ----------------------------------===//

#include "runtime/io/File.h"

#include "runtime/base/Beneath.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace zerograph;

namespace {

absl::Status failed(const std::string &path, const char *what, int error) {
  std::string message =
      absl::StrCat(path, ": ", what, ": ", std::strerror(error));
  switch (error) {
  case ENOENT:
    return absl::NotFoundError(message);
  case ENOSPC:
  case EDQUOT:
  case EFBIG:
    return absl::ResourceExhaustedError(message);
  case EACCES:
  case EPERM:
    return absl::PermissionDeniedError(message);
  default:
    return absl::UnavailableError(message);
  }
}

} // namespace

absl::StatusOr<std::shared_ptr<File>>
File::openForReading(const std::string &path) {
  // A pipe is refused below, not waited for.
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return failed(path, "cannot open", errno);
  }
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    int error = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    close(descriptor);
    return failed(path, "cannot read", error);
  }
  return std::shared_ptr<File>(
      new File(path, descriptor, uint64_t(status.st_size)));
}

absl::StatusOr<std::shared_ptr<File>>
File::openBeneath(const std::string &folder, const std::string &file) {
  struct stat status = {};
  std::string path = absl::StrCat(
      folder, folder.empty() || folder.back() == '/' ? "" : "/", file);
  absl::StatusOr<int> descriptor = zerograph::openBeneath(folder, file, status);
  if (!descriptor.ok()) {
    return absl::Status(descriptor.status().code(),
                        absl::StrCat(path, " ", descriptor.status().message()));
  }
  return std::shared_ptr<File>(
      new File(path, *descriptor, uint64_t(status.st_size)));
}

absl::StatusOr<std::shared_ptr<File>> File::create(const std::string &path,
                                                   uint64_t bytes) {
  int descriptor =
      open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return failed(path, "cannot create", errno);
  }
  int error = bytes == 0 ? 0 : posix_fallocate(descriptor, 0, off_t(bytes));
  if (error != 0) {
    close(descriptor);
    unlink(path.c_str());
    return failed(path, "cannot reserve space", error);
  }
  return std::shared_ptr<File>(new File(path, descriptor, bytes));
}

absl::StatusOr<std::shared_ptr<File>> File::temporary(const std::string &path,
                                                      uint64_t bytes) {
  const char *given = std::getenv("TMPDIR");
  std::string folder = given && *given ? given : "/tmp";
  int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  int error = descriptor < 0 ? errno
              : bytes == 0   ? 0
                             : posix_fallocate(descriptor, 0, off_t(bytes));
  if (error != 0) {
    if (descriptor >= 0) {
      close(descriptor);
    }
    return failed(path,
                  absl::StrCat("cannot unpack its ", bytes, " bytes into ",
                               folder, " (set TMPDIR to a folder with room)")
                      .c_str(),
                  error);
  }
  return std::shared_ptr<File>(new File(path, descriptor, bytes));
}

std::shared_ptr<File> File::ofMemory(std::string name, const void *data,
                                     uint64_t bytes) {
  std::shared_ptr<File> file(new File(std::move(name), -1, bytes));
  file->in_memory = static_cast<const std::byte *>(data);
  return file;
}

File::~File() {
  if (descriptor >= 0) {
    close(descriptor);
  }
}

absl::Status File::read(uint64_t offset, uint64_t bytes, void *data) const {
  auto *to = static_cast<char *>(data);
  if (in_memory && offset <= size && bytes <= size - offset) {
    std::memcpy(to, in_memory + offset, bytes);
    return absl::OkStatus();
  }
  while (bytes > 0) {
    ssize_t count = pread(descriptor, to, bytes, off_t(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return failed(name, "cannot read", errno);
    }
    if (count == 0) {
      return absl::OutOfRangeError(absl::StrCat(
          name, ": ends at byte ", offset, ", ", bytes, " bytes are missing"));
    }
    to += count;
    offset += uint64_t(count);
    bytes -= uint64_t(count);
  }
  return absl::OkStatus();
}

absl::Status File::write(uint64_t offset, uint64_t bytes, const void *data) {
  auto *from = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t count = pwrite(descriptor, from, bytes, off_t(offset));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return failed(name, "cannot write", count < 0 ? errno : ENOSPC);
    }
    from += count;
    offset += uint64_t(count);
    bytes -= uint64_t(count);
  }
  return absl::OkStatus();
}

absl::Status File::sync() {
  return fsync(descriptor) == 0 ? absl::OkStatus()
                                : failed(name, "cannot write", errno);
}
