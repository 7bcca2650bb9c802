//===- NewFile.cpp - a file that gets its name when it is whole -----------===//

#include "runtime/io/NewFile.h"

#include "runtime/base/OutputPath.h"
#include "runtime/io/Temporaries.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace zerograph;

/// A name in the file system is durable once its folder is.
static void syncFolder(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  int descriptor = open(folder.empty() ? "." : folder.c_str(),
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
}

absl::StatusOr<std::unique_ptr<NewFile>>
NewFile::create(const std::string &path, uint64_t bytes) {
  ZG_RETURN_IF_ERROR(checkOutputPath(path));
  std::unique_ptr<NewFile> made(new NewFile);
  made->name = path;
  std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  ZG_ASSIGN_OR_RETURN(made->file, File::create(temporary, bytes));
  made->temporary = temporary;
  rememberTemporary(temporary);
  return made;
}

NewFile::~NewFile() {
  if (!temporary.empty()) {
    unlink(temporary.c_str());
    forgetTemporary(temporary);
  }
}

absl::Status NewFile::commit() {
  ZG_RETURN_IF_ERROR(file->sync());
  if (rename(temporary.c_str(), name.c_str()) != 0) {
    return absl::UnavailableError(
        absl::StrCat(name, ": cannot be named: ", std::strerror(errno)));
  }
  forgetTemporary(temporary);
  temporary.clear();
  syncFolder(name);
  return absl::OkStatus();
}
