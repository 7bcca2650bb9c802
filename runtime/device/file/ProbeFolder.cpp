//===- ProbeFolder.cpp - what a folder offers files of ranks --------------===//

#include "runtime/device/FileSupport.h"
#include "runtime/device/file/FileQueue.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/statfs.h>
#include <unistd.h>

using namespace zerograph;

/// Returns the name of statfs(2)'s type; empty: another one.
static std::string nameOf(uint64_t type) {
  static constexpr std::pair<uint64_t, const char *> kNames[] = {
      {0xef53, "ext4"},      {0x58465342, "xfs"},     {0x9123683e, "btrfs"},
      {0x01021994, "tmpfs"}, {0x794c7630, "overlay"}, {0x6969, "nfs"},
      {0x2fc12fc1, "zfs"},   {0xf2f52010, "f2fs"},    {0x0bd00bd0, "lustre"},
      {0x65735546, "fuse"}};
  for (const auto &[number, name] : kNames) {
    if (number == type) {
      return name;
    }
  }
  return "";
}

absl::StatusOr<FileSupport> zerograph::probeFolder(const std::string &folder) {
  FileSupport support;
  std::string path = absl::StrCat(folder, "/zerograph-probe-XXXXXX");
  int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) {
    return absl::NotFoundError(
        absl::StrCat("--nvme-path ", folder,
                     ": cannot make a file there: ", std::strerror(errno),
                     "; give a folder that is there and can be written"));
  }
  unlink(path.c_str());
  struct statfs there = {};
  if (fstatfs(file, &there) == 0) {
    support.filesystem = nameOf(uint64_t(there.f_type));
    support.free = uint64_t(there.f_bavail) * uint64_t(there.f_bsize);
  }
  support.direct = fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_DIRECT) == 0;
  support.uring = makeUringQueue(file, 1) != nullptr;
  close(file);
  return support;
}
