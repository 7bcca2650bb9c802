//===- Writer.h - a rank's part of checkpoints ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_WRITER_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_WRITER_H

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/OwnedPieces.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace zerograph {

/// Copies what a rank owns between two steps and writes the copy on a thread of
/// its own, while training goes on. What lies in the rank's file is not copied
/// to memory, which may have no room for it: training goes on when it is read
/// from there. Rank 0's also publishes, when every rank has written its part.
/// The other functions are the rank's thread's.
class CheckpointWriter {
public:
  /// Allocates the copy. All outlive it. `keep`: how many published ones stay;
  /// none: all.
  static absl::StatusOr<std::unique_ptr<CheckpointWriter>>
  create(const plan::Plan &plan, const RankMemory &memory,
         const CheckpointFolder &folder, std::optional<uint64_t> keep);
  /// One that is being written is given up, unless it is about to be published.
  ~CheckpointWriter();

  /// Returns when nothing of the rank's states is needed any more; the rest is
  /// done by the thread. Not while it is busy. `given_up` as for `wait`.
  absl::Status save(const CheckpointRun &run,
                    const std::function<absl::Status()> &given_up);

  /// Returns whether one is being written: by this rank or, on which this one
  /// waits, by another.
  bool isBusy();
  /// Returns what went wrong since, if anything did.
  absl::Status failure();
  /// Until it is not busy, or `given_up`, which is asked now and then, is an
  /// error. Gives the first error.
  absl::Status wait(const std::function<absl::Status()> &given_up);

  /// Memory for the copy and for a piece of a file.
  uint64_t bytes() const { return copy_bytes + staging_bytes; }
  /// Returns how much the last `save` has copied or read.
  uint64_t copied() const { return copied_bytes; }
  /// Milliseconds that the thread took for the last one.
  double lastMilliseconds();

private:
  struct Place {
    OwnedPiece piece;
    uint64_t begin = 0; // in the copy, unless it is in a file
  };

  CheckpointWriter(const CheckpointFolder &folder, unsigned rank,
                   std::optional<uint64_t> keep)
      : folder(folder), rank(rank), keep(keep) {}

  void add(OwnedPiece piece);
  absl::Status allocate();
  void work();
  /// Waits for the thread; `done` is asked with the mutex held.
  absl::Status waitUntil(const std::function<bool()> &done,
                         const std::function<absl::Status()> &given_up);
  absl::Status write(const CheckpointRun &run);
  absl::StatusOr<CheckpointIndex> writeShard(const CheckpointRun &run);
  absl::StatusOr<const std::byte *> bytesOf(const Place &place);
  absl::Status publish(const CheckpointRun &run);
  absl::Status awaitPublication(uint64_t steps);
  absl::StatusOr<std::vector<CheckpointIndex>> awaitParts(uint64_t steps);
  /// An error once this object is to go.
  absl::Status pause();

  const CheckpointFolder &folder;
  const unsigned rank;
  const std::optional<uint64_t> keep;
  std::vector<Place> places;
  std::unique_ptr<std::byte[]> copy;
  std::unique_ptr<std::byte[]> staging; // of one piece of a file
  uint64_t copy_bytes = 0, staging_bytes = 0, copied_bytes = 0;
  size_t in_file = 0; // pieces

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<CheckpointRun> wanted; // to be written, or being so
  size_t unread = 0;                   // of it, pieces in the file
  absl::Status status;                 // the first error
  double milliseconds = 0;
  bool ending = false;
  std::thread thread;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_WRITER_H
