//===- Nccl.cpp - NCCL between emulated GPUs ------------------------------===//

#include "tests/emulator/Nccl.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace zerograph;
using namespace zerograph::emulator;

/// The bytes that a communicator has of a GPU's memory.
static constexpr uint64_t kBuffers = uint64_t(8) << 20;

//===----------------------------------------------------------------------===//
// Calls in progress
//===----------------------------------------------------------------------===//

bool Nccl::Comm::allHave(uint64_t number) const {
  for (unsigned peer = 0; peer < world; ++peer) {
    if (!mailbox.has(peer, number)) {
      return false;
    }
  }
  return true;
}

/// Says that a call is in progress for a while, and then does it.
int Nccl::poll(Comm &comm) {
  if (comm.error != 0) {
    return comm.error;
  }
  if (!comm.joined) {
    comm.joined = comm.allHave(0);
    gpu.library_bytes[comm.device] += comm.joined ? kBuffers : 0;
    for (unsigned peer = 0; comm.joined && peer < comm.world; ++peer) {
      if (peer != comm.rank &&
          comm.mailbox.get(peer, 0) == comm.mailbox.get(comm.rank, 0)) {
        comm.last_error = "Duplicate GPU detected";
        return comm.error = ncclInvalidUsage;
      }
    }
    return ncclInProgress;
  }
  if (comm.finalized && comm.ended < comm.launches) {
    gpu.advance();
    return ncclInProgress;
  }
  if (comm.windows_made < comm.windows) {
    return pollWindow(comm);
  }
  if (comm.polls > 0) {
    --comm.polls;
    return ncclInProgress;
  }
  std::vector<Gpu::Task> tasks = std::move(comm.tasks);
  comm.tasks.clear();
  for (Gpu::Task &task : tasks) {
    if (gpu.enqueue(comm.stream, std::move(task)) != 0) {
      return comm.error = 1; // ncclUnhandledCudaError
    }
  }
  return ncclSuccess;
}

/// Messages of windows, apart from those of launches.
static uint64_t messageOf(uint64_t window) {
  return (uint64_t(1) << 32) + window;
}

/// The count that a rank leaves whose communicator has ended.
static constexpr uint64_t kGone = uint64_t(1) << 33;

int Nccl::beginWindow(Comm &comm, uint64_t bytes) {
  comm.mailbox.put(comm.rank, messageOf(++comm.windows), absl::StrCat(bytes));
  return ncclInProgress;
}

int Nccl::pollWindow(Comm &comm) {
  uint64_t message = messageOf(comm.windows);
  if (!comm.allHave(message)) {
    for (unsigned peer = 0; peer < comm.world; ++peer) {
      if (comm.mailbox.has(peer, kGone)) {
        comm.last_error = absl::StrCat("rank ", peer, " has hung up");
        return comm.error = ncclRemoteError;
      }
    }
    return ncclInProgress;
  }
  for (unsigned peer = 0; peer < comm.world; ++peer) {
    if (comm.mailbox.get(peer, message) !=
        comm.mailbox.get(comm.rank, message)) {
      return comm.error = gpu.complain(
                 "NCCL: ranks make a window of different numbers of bytes");
    }
  }
  comm.windows_made = comm.windows;
  return ncclSuccess;
}

//===----------------------------------------------------------------------===//
// Answers on what is there, and to what tests ask for
//===----------------------------------------------------------------------===//

Nccl::Shared Nccl::find(ncclComm_t comm) {
  auto found = comms.find(reinterpret_cast<Comm *>(comm));
  if (found != comms.end()) {
    return found->second;
  }
  gpu.complain("NCCL: a communicator is used that is not there");
  return nullptr;
}

int64_t Nccl::ranksHere(const Comm &comm) const {
  return std::count_if(comms.begin(), comms.end(), [&](const auto &entry) {
    return entry.second->mailbox.name() == comm.mailbox.name();
  });
}

int Nccl::forget(const Shared &comm) {
  comm->aborted = true;
  comm->mailbox.put(comm->rank, kGone, "");
  comm->tasks.clear(); // they own the communicator
  gpu.library_bytes[comm->device] -= comm->joined ? kBuffers : 0;
  gpu.conflicts.forget(comm->key());
  comms.erase(comm.get());
  gpu.changed.notify_all();
  return 0;
}

std::string Nccl::leftovers() const {
  std::lock_guard<std::mutex> lock(gpu.mutex);
  return comms.empty() ? "" : absl::StrCat(comms.size(), " communicators");
}

uint64_t Nccl::launches() const {
  std::lock_guard<std::mutex> lock(gpu.mutex);
  return ended;
}

uint64_t Nccl::registrations() const {
  std::lock_guard<std::mutex> lock(gpu.mutex);
  return registered;
}

std::map<std::string, uint64_t> Nccl::calls() const {
  std::lock_guard<std::mutex> lock(gpu.mutex);
  return call_counts;
}

void Nccl::failCall(const std::string &function, uint64_t number) {
  failing = function;
  failing_number = number;
}

void Nccl::failLater(unsigned rank, uint64_t number) {
  late_rank = rank;
  late = number;
}

void Nccl::lose(unsigned rank, uint64_t number) {
  lost_rank = rank;
  lost = number;
}
