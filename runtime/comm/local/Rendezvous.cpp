//===- Rendezvous.cpp - where the threads of a local group meet -----------===//

#include "runtime/comm/local/Rendezvous.h"

using namespace zerograph;

absl::Status Rendezvous::failureLocked() const {
  if (failed.ok()) {
    return absl::OkStatus();
  }
  return absl::AbortedError(
      absl::StrCat("rank ", failed_rank, " failed: ", failed.message()));
}

std::string Rendezvous::missingLocked(const std::vector<bool> &present) const {
  std::string missing;
  for (unsigned rank = 0; rank < world; ++rank) {
    if (!present[rank]) {
      absl::StrAppend(&missing, missing.empty() ? "rank " : ", rank ", rank);
    }
  }
  return missing;
}

absl::Status Rendezvous::arrive(std::unique_lock<std::mutex> &lock,
                                unsigned rank) {
  arrived[rank] = true;
  if (++count == world) {
    count = 0;
    arrived.assign(world, false);
    ++round;
    changed.notify_all();
    return absl::OkStatus();
  }
  uint64_t mine = round;
  Clock::time_point end = Clock::now() + deadline;
  while (round == mine && failed.ok()) {
    for (unsigned other = 0; other < world; ++other) {
      if (ended[other] && !arrived[other]) {
        return absl::UnavailableError(
            absl::StrCat("rank ", other, " has ended"));
      }
    }
    if (changed.wait_until(lock, end) == std::cv_status::timeout &&
        round == mine && failed.ok()) {
      return absl::DeadlineExceededError(absl::StrCat(
          "waited ",
          std::chrono::duration_cast<std::chrono::duration<double>>(deadline)
              .count(),
          " s for ", missingLocked(arrived)));
    }
  }
  return round != mine ? absl::OkStatus() : failureLocked();
}

absl::Status Rendezvous::explain(unsigned rank, const absl::Status &status,
                                 const std::string &where) {
  if (status.code() == absl::StatusCode::kAborted) {
    return status; // said by the rank that failed
  }
  absl::Status explained =
      annotate(status, absl::StrCat("rank ", rank, ", ", where));
  // This rank counts as come and will not come again: the round is broken.
  std::lock_guard<std::mutex> lock(mutex);
  return failLocked(rank, explained) ? explained : failureLocked();
}

bool Rendezvous::failLocked(unsigned rank, const absl::Status &status) {
  if (!failed.ok()) {
    return false;
  }
  failed = status;
  failed_rank = rank;
  changed.notify_all();
  return true;
}

void Rendezvous::fail(unsigned rank, const absl::Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  failLocked(rank, status);
}

void Rendezvous::end(unsigned rank) {
  std::lock_guard<std::mutex> lock(mutex);
  ended[rank] = true;
  changed.notify_all();
}

absl::Status Rendezvous::failure() {
  std::lock_guard<std::mutex> lock(mutex);
  return failureLocked();
}
