//===- NcclLaunch.cpp - what a group of emulated NCCL does ----------------===//

#include "tests/emulator/Nccl.h"

#include "absl/strings/str_cat.h"

#include <cstring>

using namespace zerograph;
using namespace zerograph::emulator;

/// The two tasks of the communicator's next launch. Message 0 is the joining;
/// launches count from 1.
std::array<Gpu::Task, 2> Nccl::next(const Shared &comm, const Launch &launch) {
  uint64_t number = ++comm->launches;
  bool stays = lost != 0 && comm->rank == lost_rank && number >= lost;
  Gpu::Task begins, ends;
  begins.name = ends.name = absl::StrCat(
      "NCCL's launch ", number, " (", launch.transfers[0].what.describe(),
      launch.transfers.size() > 1 ? ", ..." : "", ") of rank ", comm->rank);
  // After a complaint nothing begins any more.
  begins.ready = [=, this] {
    return comm->aborted || !stays || !gpu.wrong.empty();
  };
  begins.run = [=, this](Gpu::Touched &touched) {
    return comm->aborted ? absl::OkStatus()
                         : begin(*comm, number, launch, touched);
  };
  ends.ready = [=, this] {
    return comm->aborted || !gpu.wrong.empty() || comm->allHave(number);
  };
  ends.run = [=, this](Gpu::Touched &touched) {
    return comm->aborted ? absl::OkStatus()
                         : end(*comm, number, launch.transfers, touched);
  };
  return {std::move(begins), std::move(ends)};
}

/// The same for a graph, each of whose launches is the communicator's next.
/// They count as held until no graph has them.
std::array<Gpu::Task, 2> Nccl::record(const Shared &comm,
                                      const Launch &launch) {
  auto tasks = std::make_shared<std::array<Gpu::Task, 2>>();
  auto become = [](Gpu::Task &task, Gpu::Task &made) {
    task.name = std::move(made.name);
    task.ready = std::move(made.ready);
    task.run = std::move(made.run);
  };
  std::array<Gpu::Task, 2> recorded;
  recorded[0].again = [=, this, held = comm->recorded](Gpu::Task &task) {
    *tasks = next(comm, launch);
    become(task, (*tasks)[0]);
  };
  recorded[1].again = [=, held = comm->recorded](Gpu::Task &task) {
    become(task, (*tasks)[1]);
  };
  return recorded;
}

int Nccl::launch(const Shared &comm, CUstream stream,
                 const std::vector<Transfer> &transfers) {
  if (!comm->joined || comm->finalized || !comm->tasks.empty() ||
      comm->polls > 0 || comm->windows_made < comm->windows) {
    return gpu.complain("a communicator of NCCL is used while it is not done "
                        "with the call before");
  }
  Launch launch{transfers, gpu.records(stream)};
  if (launch.recorded && ranksHere(*comm) > 1) {
    return gpu.complain("a graph with collectives is recorded by a process "
                        "with several ranks, which NCCL says may deadlock");
  }
  comm->stream = stream;
  auto [begins, ends] =
      launch.recorded ? record(comm, launch) : next(comm, launch);
  comm->tasks = {std::move(begins), std::move(ends)};
  comm->polls = unsigned(gpu.random() % 3);
  return comm->polls > 0 ? int(ncclInProgress) : poll(*comm);
}

/// Two launches of a communicator that nothing orders touch its bytes, which
/// are no allocation.
static void touchCommunicator(std::map<uint64_t, Lines> &touched,
                              uint64_t key) {
  touched.try_emplace(key, kLine).first->second.touch(0, kLine, true);
}

absl::Status Nccl::begin(Comm &comm, uint64_t number, const Launch &launch,
                         Gpu::Touched &touched) {
  touchCommunicator(touched, comm.key());
  Parcel parcel;
  parcel.recorded = launch.recorded;
  for (const Transfer &transfer : launch.transfers) {
    Parcel::Item &item = parcel.items.emplace_back(transfer.what);
    uint64_t bytes = item.bytes;
    if (item.kind == TransferKind::Receive) {
      continue;
    }
    if (item.kind == TransferKind::ReduceScatter) {
      bytes *= comm.world;
    }
    const char *from = gpu.reach(transfer.from, bytes, false, touched, "NCCL");
    if (!from) {
      return absl::OkStatus(); // said
    }
    item.data.assign(from, bytes);
  }
  comm.mailbox.put(comm.rank, number, parcel.pack());
  comm.begun = number;
  if (late != 0 && comm.rank == late_rank && number >= late) {
    comm.last_error = "made to fail";
    comm.error = ncclRemoteError;
  }
  gpu.changed.notify_all();
  return absl::OkStatus();
}

namespace {

void gather(const std::vector<const std::string *> &parts, uint64_t bytes,
            char *to) {
  for (const std::string *part : parts) {
    std::memcpy(to, part->data(), bytes);
    to += bytes;
  }
}

/// Parts of all ranks, added up in an order that is not that of the ranks.
template <typename T>
void reduce(const std::vector<const std::string *> &parts, unsigned rank,
            uint64_t bytes, char *to) {
  for (uint64_t at = 0; at < bytes; at += sizeof(T)) {
    T sum = 0;
    for (size_t i = 1; i <= parts.size(); ++i) {
      T value;
      std::memcpy(&value,
                  parts[(rank + i) % parts.size()]->data() + rank * bytes + at,
                  sizeof(T));
      sum += value;
    }
    std::memcpy(to + at, &sum, sizeof(T));
  }
}

} // namespace

absl::Status Nccl::end(Comm &comm, uint64_t number,
                       const std::vector<Transfer> &transfers,
                       Gpu::Touched &touched) {
  touchCommunicator(touched, comm.key());
  std::vector<Parcel> parcels;
  for (unsigned peer = 0; peer < comm.world; ++peer) {
    parcels.push_back(Parcel::unpack(comm.mailbox.get(peer, number)));
  }
  std::string difference = differenceOf(parcels, comm.rank);
  if (!difference.empty()) {
    return absl::InternalError(
        absl::StrCat("launch ", number, " of NCCL: ", difference));
  }
  std::vector<size_t> taken(comm.world, 0);
  for (size_t i = 0; i < transfers.size(); ++i) {
    const Parcel::Item &what = transfers[i].what;
    bool gathers = what.kind == TransferKind::AllGather;
    if (what.kind == TransferKind::Send) {
      continue;
    }
    char *to =
        gpu.reach(transfers[i].to, what.bytes * (gathers ? comm.world : 1),
                  true, touched, "NCCL");
    if (!to) {
      return absl::OkStatus(); // said
    }
    if (what.kind == TransferKind::Receive) {
      const Parcel &from = parcels[size_t(what.peer)];
      const Parcel::Item *sent =
          from.sent(comm.rank, taken[size_t(what.peer)]++);
      std::memcpy(to, sent->data.data(), what.bytes);
      continue;
    }
    std::vector<const std::string *> parts;
    for (const Parcel &parcel : parcels) {
      parts.push_back(&parcel.items[i].data);
    }
    if (gathers) {
      gather(parts, what.bytes, to);
    } else if (what.type == ncclFloat64) {
      reduce<double>(parts, comm.rank, what.bytes, to);
    } else {
      reduce<float>(parts, comm.rank, what.bytes, to);
    }
  }
  comm.ended = number;
  ++ended;
  if (number > 1) {
    comm.mailbox.remove(comm.rank, number - 1); // all have ended that one
  }
  gpu.changed.notify_all();
  return absl::OkStatus();
}
