//===- Folder.h - a folder of checkpoints ---------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_FOLDER_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_FOLDER_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

inline constexpr char kIndexName[] = "index.json";

/// "step-00000100", of a run that has made 100 steps.
std::string checkpointName(uint64_t steps);
/// "rank-00003.safetensors": what the rank wrote; and "rank-00003.json": that
/// it has, until the checkpoint is published.
std::string shardName(uint32_t rank);
std::string partName(uint32_t rank);
/// Returns the rank in a shard's name; nothing if it is none.
std::optional<uint32_t> rankOfShard(const std::string &name);

/// One that is whole, and stays so.
struct PublishedCheckpoint {
  std::string path;
  uint64_t steps = 0;
};

/// Returns what is published in a folder, ascending. An error if it cannot be
/// listed.
absl::StatusOr<std::vector<PublishedCheckpoint>>
publishedIn(const std::string &folder);

/// Returns whether a folder is a checkpoint itself, and no folder of
/// checkpoints.
bool isCheckpoint(const std::string &path);

/// Returns an error if a folder whose newest checkpoint is none of ours is one
/// of DeepSpeed, or has such: it says how one becomes ours.
absl::Status
checkNotDeepSpeeds(const std::string &path,
                   const std::vector<PublishedCheckpoint> &published);

/// The checkpoint itself, or all that are published in a folder, ascending; an
/// error if there is none.
absl::StatusOr<std::vector<std::string>> checkpointsAt(const std::string &path);

/// All of a small file; and a new one that is on the disk, and has its name
/// only then.
absl::StatusOr<std::string> readText(const std::string &path);
absl::Status writeText(const std::string &path, const std::string &text);

/// The folder that a run writes to. Ranks of one process share it; its
/// functions are thread-safe.
class CheckpointFolder {
public:
  /// Opens the folder for the process that publishes: makes it where there is
  /// none, but not the one that it is in, as the path may be misspelt; is the
  /// only one that writes there while this lives, and removes what runs that
  /// were killed have left.
  static absl::StatusOr<std::unique_ptr<CheckpointFolder>>
  open(const std::string &path);
  /// Opens the folder for another process. An error if the folder is not the
  /// very one that was opened by the process with this token.
  static absl::StatusOr<std::unique_ptr<CheckpointFolder>>
  join(const std::string &path, const std::string &token);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  const std::string &path() const { return folder; }
  /// Returns the token by which other processes know it.
  const std::string &token() const { return own_token; }

  /// Return where a checkpoint is, and where it is being written.
  std::string published(uint64_t steps) const;
  std::string writing(uint64_t steps) const;

  /// Makes the folder to write to; by any rank.
  absl::Status begin(uint64_t steps) const;
  /// All is written: gives it its name.
  absl::Status publish(uint64_t steps) const;
  /// Removes all published ones but the newest `keep`. One that is half removed
  /// has another name.
  absl::Status removeAllBut(uint64_t keep) const;

private:
  explicit CheckpointFolder(std::string path) : folder(std::move(path)) {}
  absl::Status lock();
  absl::Status removeLeftovers() const;

  std::string folder, own_token;
  int descriptor = -1; // of the lock
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_FOLDER_H
