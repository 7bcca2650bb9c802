//===- Writer.cpp - a rank's part of checkpoints --------------------------===//

#include "runtime/checkpoint/Writer.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/WriteShard.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <new>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

using namespace zerograph;

namespace {

/// How often a thread looks for what other ranks write.
constexpr std::chrono::milliseconds kLook(10);

using Clock = std::chrono::steady_clock;

/// By how much a thread that writes is nicer than those that compute: where no
/// processor is idle, it gets a tenth of one.
constexpr int kNicer = 10;

/// Lowers the priority, on Linux of this thread alone. Whether or not that
/// succeeds, it can write.
void lowerIoPriority() {
  errno = 0;
  int own = getpriority(PRIO_PROCESS, 0);
  if (errno == 0) {
    setpriority(PRIO_PROCESS, 0, own + kNicer);
  }
}

} // namespace

absl::StatusOr<std::unique_ptr<CheckpointWriter>>
CheckpointWriter::create(const plan::Plan &plan, const RankMemory &memory,
                         const CheckpointFolder &folder,
                         std::optional<uint64_t> keep) {
  std::unique_ptr<CheckpointWriter> writer(
      new CheckpointWriter(folder, memory.rank, keep));
  for (OwnedPiece &piece : ownedPieces(plan, memory)) {
    writer->add(std::move(piece));
  }
  ZG_RETURN_IF_ERROR(writer->allocate());
  return writer;
}

void CheckpointWriter::add(OwnedPiece piece) {
  uint64_t bytes = piece.bytes.bytes;
  places.push_back({std::move(piece), copy_bytes});
  if (places.back().piece.in_file) {
    staging_bytes = std::max(staging_bytes, bytes);
    ++in_file;
  } else {
    copy_bytes += bytes;
  }
}

absl::Status CheckpointWriter::allocate() {
  try {
    copy.reset(new std::byte[copy_bytes]);
    staging.reset(new std::byte[staging_bytes]);
    thread = std::thread([this] { work(); });
  } catch (const std::bad_alloc &) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "there is no memory for the copy that checkpoints are written from, ",
        grouped(copy_bytes + staging_bytes), " bytes a rank"));
  } catch (const std::system_error &error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system gives no thread to write checkpoints on (",
                     error.what(), "): use fewer ranks or --threads"));
  }
  // Its pages are there before the first step.
  std::memset(copy.get(), 0, copy_bytes);
  std::memset(staging.get(), 0, staging_bytes);
  return absl::OkStatus();
}

CheckpointWriter::~CheckpointWriter() {
  {
    std::lock_guard lock(mutex);
    ending = true;
  }
  changed.notify_all();
  if (thread.joinable()) {
    thread.join();
  }
}

absl::Status
CheckpointWriter::save(const CheckpointRun &run,
                       const std::function<absl::Status()> &given_up) {
  copied_bytes = 0;
  for (const Place &place : places) {
    if (!place.piece.in_file) {
      ZG_RETURN_IF_ERROR(place.piece.bytes.read(copy.get() + place.begin));
      copied_bytes += place.piece.bytes.bytes;
    }
  }
  {
    std::lock_guard lock(mutex);
    wanted = run;
    unread = in_file;
  }
  changed.notify_all();
  return waitUntil([&] { return unread == 0; }, given_up);
}

bool CheckpointWriter::isBusy() {
  std::lock_guard lock(mutex);
  return wanted.has_value();
}

absl::Status CheckpointWriter::failure() {
  std::lock_guard lock(mutex);
  return status;
}

double CheckpointWriter::lastMilliseconds() {
  std::lock_guard lock(mutex);
  return milliseconds;
}

absl::Status
CheckpointWriter::wait(const std::function<absl::Status()> &given_up) {
  return waitUntil([&] { return !wanted; }, given_up);
}

absl::Status
CheckpointWriter::waitUntil(const std::function<bool()> &done,
                            const std::function<absl::Status()> &given_up) {
  std::unique_lock lock(mutex);
  while (!done() && status.ok()) {
    changed.wait_for(lock, kLook);
    lock.unlock();
    absl::Status given = given_up();
    lock.lock();
    if (!given.ok() && !done()) {
      return given;
    }
  }
  return status;
}

void CheckpointWriter::work() {
  lowerIoPriority();
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return wanted || ending; });
    if (!wanted) {
      return;
    }
    CheckpointRun run = *wanted;
    lock.unlock();
    Clock::time_point begin = Clock::now();
    absl::Status result = write(run);
    lock.lock();
    milliseconds =
        std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    status.Update(result);
    wanted.reset();
    changed.notify_all();
  }
}

absl::Status CheckpointWriter::pause() {
  std::unique_lock lock(mutex);
  changed.wait_for(lock, kLook, [&] { return ending; });
  return ending ? absl::CancelledError("the run has ended") : absl::OkStatus();
}

absl::Status CheckpointWriter::write(const CheckpointRun &run) {
  auto all = [&]() -> absl::Status {
    ZG_RETURN_IF_ERROR(folder.begin(run.steps));
    ZG_ASSIGN_OR_RETURN(CheckpointIndex part, writeShard(run));
    ZG_RETURN_IF_ERROR(
        writeText(absl::StrCat(folder.writing(run.steps), "/", partName(rank)),
                  textOf(part)));
    return rank == 0 ? publish(run) : awaitPublication(run.steps);
  };
  absl::Status result = all();
  if (result.ok()) {
    return result;
  }
  return annotate(result, absl::StrCat("the checkpoint after ", run.steps,
                                       " steps is not published (those in ",
                                       folder.path(), " are as they were)"));
}

absl::StatusOr<CheckpointIndex>
CheckpointWriter::writeShard(const CheckpointRun &run) {
  std::vector<ShardPiece> pieces;
  for (const Place &place : places) {
    const OwnedPiece &piece = place.piece;
    pieces.push_back({&piece.tensor, piece.first, piece.elements});
  }
  return zerograph::writeShard(folder.writing(run.steps), run, rank, pieces,
                               [&](size_t i) { return bytesOf(places[i]); });
}

absl::StatusOr<const std::byte *>
CheckpointWriter::bytesOf(const Place &place) {
  if (!place.piece.in_file) {
    return copy.get() + place.begin;
  }
  ZG_RETURN_IF_ERROR(place.piece.bytes.read(staging.get()));
  std::lock_guard lock(mutex);
  copied_bytes += place.piece.bytes.bytes;
  if (--unread == 0) {
    changed.notify_all();
  }
  return staging.get();
}

absl::StatusOr<std::vector<CheckpointIndex>>
CheckpointWriter::awaitParts(uint64_t steps) {
  std::vector<CheckpointIndex> parts;
  for (uint32_t other = 0; parts.empty() || other < parts[0].run.ranks;) {
    std::string path =
        absl::StrCat(folder.writing(steps), "/", partName(other));
    absl::StatusOr<std::string> text = readText(path);
    if (absl::IsNotFound(text.status())) {
      ZG_RETURN_IF_ERROR(pause());
      // Another host's is seen once the folder has been looked at anew.
      std::error_code gone;
      std::filesystem::directory_iterator look(folder.writing(steps), gone);
      if (gone) {
        return absl::NotFoundError(
            absl::StrCat(folder.writing(steps), ": ", gone.message()));
      }
      continue;
    }
    ZG_RETURN_IF_ERROR(text.status());
    ZG_ASSIGN_OR_RETURN(CheckpointIndex part, parseIndexPart(path, *text));
    parts.push_back(std::move(part));
    ++other;
  }
  return parts;
}

absl::Status CheckpointWriter::publish(const CheckpointRun &run) {
  ZG_ASSIGN_OR_RETURN(std::vector<CheckpointIndex> parts,
                      awaitParts(run.steps));
  std::string path = absl::StrCat(folder.writing(run.steps), "/", kIndexName);
  ZG_ASSIGN_OR_RETURN(CheckpointIndex index, mergeIndex(path, parts));
  ZG_RETURN_IF_ERROR(writeText(path, textOf(index)));
  for (uint32_t other = 0; other < index.run.ranks; ++other) {
    std::string part =
        absl::StrCat(folder.writing(run.steps), "/", partName(other));
    if (unlink(part.c_str()) != 0) {
      return absl::UnavailableError(
          absl::StrCat(part, ": cannot be removed: ", std::strerror(errno)));
    }
  }
  ZG_RETURN_IF_ERROR(folder.publish(run.steps));
  return keep ? folder.removeAllBut(*keep) : absl::OkStatus();
}

/// So that no rank is ahead of the one that publishes: all wait equally long.
absl::Status CheckpointWriter::awaitPublication(uint64_t steps) {
  std::error_code error;
  while (std::filesystem::exists(folder.writing(steps), error)) {
    ZG_RETURN_IF_ERROR(pause());
  }
  return absl::OkStatus();
}
