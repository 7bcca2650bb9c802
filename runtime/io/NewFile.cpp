//===- NewFile.cpp - a file that gets its name when it is whole -----------===//

#include "runtime/io/NewFile.h"

#include "runtime/base/OutputPath.h"
#include "runtime/base/SyncFolder.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace zerograph;

namespace {

/// A list that only grows, by a node a file that a run writes: a signal handler
/// may be reading it at any time, so no node is ever freed.
struct Temporary {
  std::string path;
  std::atomic<bool> there = true;
  Temporary *next = nullptr;
};
std::atomic<Temporary *> newest;

} // namespace

void zerograph::rememberTemporary(const std::string &path) {
  auto *node = new Temporary{path};
  node->next = newest.load();
  while (!newest.compare_exchange_weak(node->next, node)) {
  }
}

void zerograph::forgetTemporary(const std::string &path) {
  for (Temporary *node = newest.load(); node; node = node->next) {
    if (node->there.load() && node->path == path) {
      node->there = false;
      return;
    }
  }
}

void zerograph::removeTemporaries() {
  for (Temporary *node = newest.load(); node; node = node->next) {
    if (node->there.load()) {
      unlink(node->path.c_str());
    }
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
  // Its name is durable once its folder is; the file is there in any case.
  syncFolder(std::filesystem::path(name).parent_path().string()).IgnoreError();
  return absl::OkStatus();
}

absl::Status zerograph::writeWholeFile(const std::string &path,
                                       absl::string_view bytes) {
  ZG_ASSIGN_OR_RETURN(auto file, NewFile::create(path, bytes.size()));
  ZG_RETURN_IF_ERROR(file->write(0, bytes.size(), bytes.data()));
  return file->commit();
}
