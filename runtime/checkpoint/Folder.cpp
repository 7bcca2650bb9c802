//===- Folder.cpp - a folder of checkpoints -------------------------------===//

#include "runtime/checkpoint/Folder.h"

#include "runtime/base/OutputPath.h"
#include "runtime/base/SyncFolder.h"
#include "runtime/io/File.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

constexpr char kLock[] = ".zerograph-lock";
constexpr char kWriting[] = ".writing";
constexpr char kRemoving[] = ".removing";

absl::Status failed(const std::string &path, const char *what, int error) {
  return absl::UnavailableError(
      absl::StrCat(path, ": ", what, ": ", std::strerror(error)));
}

/// The steps in "step-00000100".
std::optional<uint64_t> stepsOf(absl::string_view name) {
  uint64_t steps = 0;
  absl::string_view digits = name;
  if (!absl::ConsumePrefix(&digits, "step-") ||
      !absl::SimpleAtoi(digits, &steps) || checkpointName(steps) != name) {
    return std::nullopt;
  }
  return steps;
}

/// Returns whether the name is one of what a run leaves that was killed while
/// it wrote or removed a checkpoint.
bool isLeftover(absl::string_view name) {
  return (absl::ConsumeSuffix(&name, kWriting) ||
          absl::ConsumeSuffix(&name, kRemoving)) &&
         stepsOf(name);
}

/// Names in a folder, sorted.
absl::StatusOr<std::vector<std::string>> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": cannot be listed: ", error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Removes a folder with the files that a checkpoint has, and no others.
absl::Status removeFolder(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(path));
  for (const std::string &name : names) {
    if (!absl::StartsWith(name, "rank-") &&
        !absl::StartsWith(name, kIndexName)) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, ": cannot be removed: it holds ", name,
                       ", which is not of a checkpoint: move it away"));
    }
    std::string file = absl::StrCat(path, "/", name);
    if (unlink(file.c_str()) != 0 && errno != ENOENT) {
      return failed(file, "cannot be removed", errno);
    }
  }
  if (rmdir(path.c_str()) != 0 && errno != ENOENT) {
    return failed(path, "cannot be removed", errno);
  }
  return absl::OkStatus();
}

} // namespace

/// Gives a file or a folder its name, on the disk too.
static absl::Status renameFolder(const std::string &from,
                                 const std::string &to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    return failed(from, absl::StrCat("cannot be renamed to ", to).c_str(),
                  errno);
  }
  return syncFolder(fs::path(to).parent_path().string());
}

std::string zerograph::checkpointName(uint64_t steps) {
  return absl::StrFormat("step-%08u", steps);
}

std::string zerograph::shardName(uint32_t rank) {
  return absl::StrFormat("rank-%05u.safetensors", rank);
}

std::string zerograph::partName(uint32_t rank) {
  return absl::StrFormat("rank-%05u.json", rank);
}

std::optional<uint32_t> zerograph::rankOfShard(const std::string &name) {
  uint32_t rank = 0;
  absl::string_view digits = name;
  if (!absl::ConsumePrefix(&digits, "rank-") ||
      !absl::ConsumeSuffix(&digits, ".safetensors") ||
      !absl::SimpleAtoi(digits, &rank) || shardName(rank) != name) {
    return std::nullopt;
  }
  return rank;
}

absl::StatusOr<std::vector<PublishedCheckpoint>>
zerograph::publishedIn(const std::string &folder) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(folder));
  std::vector<PublishedCheckpoint> published;
  for (const std::string &name : names) {
    std::string path = (fs::path(folder) / name).string();
    std::error_code ignored; // what cannot be looked at is none
    if (std::optional<uint64_t> steps = stepsOf(name);
        steps && fs::is_directory(path, ignored)) {
      published.push_back({path, *steps});
    }
  }
  std::sort(published.begin(), published.end(),
            [](const PublishedCheckpoint &a, const PublishedCheckpoint &b) {
              return a.steps < b.steps;
            });
  return published;
}

bool zerograph::isCheckpoint(const std::string &path) {
  std::error_code ignored;
  return fs::exists(fs::path(path) / kIndexName, ignored);
}

absl::Status zerograph::checkNotDeepSpeeds(
    const std::string &path,
    const std::vector<PublishedCheckpoint> &published) {
  if (!published.empty() && isCheckpoint(published.back().path)) {
    return absl::OkStatus();
  }
  std::error_code ignored;
  for (const char *name :
       {"latest", "latest_universal", "zero/optimizer_state.pt"}) {
    if (fs::is_regular_file(fs::path(path) / name, ignored)) {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          ": it is a checkpoint of DeepSpeed; Zerograph's Python package "
          "makes one of it that is read here: "
          "zerograph.convert.deepspeed_to_checkpoint('",
          path, "', PLAN, FOLDER)"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>>
zerograph::checkpointsAt(const std::string &path) {
  if (isCheckpoint(path)) {
    return std::vector<std::string>{path};
  }
  ZG_ASSIGN_OR_RETURN(std::vector<PublishedCheckpoint> published,
                      publishedIn(path));
  ZG_RETURN_IF_ERROR(checkNotDeepSpeeds(path, published));
  std::vector<std::string> paths;
  for (const PublishedCheckpoint &one : published) {
    paths.push_back(one.path);
  }
  if (paths.empty()) {
    return absl::NotFoundError(
        absl::StrCat(path, ": there is no checkpoint in it"));
  }
  return paths;
}

absl::StatusOr<std::string> zerograph::readText(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<File> file, File::openForReading(path));
  std::string text(file->bytes(), '\0');
  ZG_RETURN_IF_ERROR(file->read(0, text.size(), text.data()));
  return text;
}

absl::Status zerograph::writeText(const std::string &path,
                                  const std::string &text) {
  std::string temporary = path + ".tmp";
  {
    ZG_ASSIGN_OR_RETURN(std::shared_ptr<File> file,
                        File::create(temporary, text.size()));
    ZG_RETURN_IF_ERROR(file->write(0, text.size(), text.data()));
    ZG_RETURN_IF_ERROR(file->sync());
  }
  return renameFolder(temporary, path);
}

absl::StatusOr<std::unique_ptr<CheckpointFolder>>
CheckpointFolder::open(const std::string &path) {
  std::error_code error;
  fs::path own = (fs::path(path) / "").parent_path(); // "c", also of "c/"
  ZG_RETURN_IF_ERROR(checkParentFolder(own));
  fs::create_directory(own, error);
  if (!error && access(path.c_str(), W_OK | X_OK) != 0) {
    error.assign(errno, std::generic_category());
  }
  if (error || !fs::is_directory(path, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": no checkpoints can be written there: ",
                     error && error != std::errc::file_exists
                         ? error.message()
                         : "it is a file; give a folder"));
  }
  std::unique_ptr<CheckpointFolder> folder(new CheckpointFolder(path));
  ZG_RETURN_IF_ERROR(folder->lock());
  ZG_RETURN_IF_ERROR(folder->removeLeftovers());
  return folder;
}

absl::StatusOr<std::unique_ptr<CheckpointFolder>>
CheckpointFolder::join(const std::string &path, const std::string &token) {
  absl::StatusOr<std::string> found = readText(path + "/" + kLock);
  if (!found.ok() || *found != token) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--checkpoint ", path,
        ": this rank does not see there what rank 0 wrote: it must be one "
        "folder for all ranks, in a file system that their hosts share"));
  }
  return std::unique_ptr<CheckpointFolder>(new CheckpointFolder(path));
}

CheckpointFolder::~CheckpointFolder() {
  if (descriptor >= 0) {
    close(descriptor); // and so unlocks
  }
}

absl::Status CheckpointFolder::lock() {
  std::string file = absl::StrCat(folder, "/", kLock);
  descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return failed(file, "cannot be written", errno);
  }
  // Where the file system has no locks, nobody is kept out.
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder, ": another run writes checkpoints there; wait for "
                             "its end, or choose another folder"));
  }
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  own_token = absl::StrCat(
      host, " ", getpid(), " ",
      std::chrono::system_clock::now().time_since_epoch().count(), "\n");
  if (ftruncate(descriptor, 0) != 0 ||
      pwrite(descriptor, own_token.data(), own_token.size(), 0) !=
          ssize_t(own_token.size()) ||
      fsync(descriptor) != 0) {
    return failed(file, "cannot be written", errno);
  }
  return absl::OkStatus();
}

absl::Status CheckpointFolder::removeLeftovers() const {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> names, namesIn(folder));
  for (const std::string &name : names) {
    if (isLeftover(name)) {
      ZG_RETURN_IF_ERROR(removeFolder(absl::StrCat(folder, "/", name)));
    }
  }
  return absl::OkStatus();
}

std::string CheckpointFolder::published(uint64_t steps) const {
  return (fs::path(folder) / checkpointName(steps)).string();
}

std::string CheckpointFolder::writing(uint64_t steps) const {
  return published(steps) + kWriting;
}

absl::Status CheckpointFolder::begin(uint64_t steps) const {
  std::string path = writing(steps);
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return failed(path, "cannot be made", errno);
  }
  return absl::OkStatus();
}

absl::Status CheckpointFolder::publish(uint64_t steps) const {
  ZG_RETURN_IF_ERROR(syncFolder(writing(steps)));
  return renameFolder(writing(steps), published(steps));
}

absl::Status CheckpointFolder::removeAllBut(uint64_t keep) const {
  ZG_ASSIGN_OR_RETURN(std::vector<PublishedCheckpoint> all,
                      publishedIn(folder));
  for (size_t i = 0; i + keep < all.size(); ++i) {
    std::string removing = all[i].path + kRemoving;
    ZG_RETURN_IF_ERROR(renameFolder(all[i].path, removing));
    ZG_RETURN_IF_ERROR(removeFolder(removing));
  }
  return absl::OkStatus();
}
