//===- MpiCommunicator.cpp - ranks that are MPI processes -----------------===//

#include "runtime/comm/mpi/MpiCommunicator.h"

#include "runtime/comm/Fold.h"
#include "runtime/plan/Supported.h"

#include <algorithm>
#include <cstring>

using namespace zerograph;

namespace {

std::byte *bytesOf(const void *data) {
  return static_cast<std::byte *>(const_cast<void *>(data));
}

} // namespace

absl::StatusOr<std::unique_ptr<MpiCommunicator>>
MpiCommunicator::join(const Launch &launch, const MpiOptions &options) {
  std::unique_ptr<MpiCommunicator> self(new MpiCommunicator(options));
  ZG_ASSIGN_OR_RETURN(
      self->engine,
      Engine::start(std::chrono::duration_cast<Engine::Clock::duration>(
                        std::min(options.deadline, kLongestDeadline)),
                    options.told_to_end));
  if (launch.world != 0 && launch.world != self->world()) {
    return absl::FailedPreconditionError(absl::StrCat(
        launch.launcher, " started ", launch.world, " processes and MPI knows ",
        self->world(),
        ": start this by the mpirun of the MPI that `zerograph env` names, or "
        "by srun --mpi=pmix"));
  }
  self->contributions.resize(self->world());
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> processes,
      self->exchange("meeting the other ranks", describeThisProcess()));
  self->engine->watch(processes);
  // Processes that are watched must not have ended before.
  ZG_RETURN_IF_ERROR(self->barrier("meeting the other ranks"));
  return self;
}

template <typename Body>
void MpiCommunicator::forPeers(const Body &body) const {
  for (unsigned i = 1; i < world(); ++i) {
    body((rank() + i) % world());
  }
}

std::vector<unsigned> MpiCommunicator::others() const {
  std::vector<unsigned> result;
  forPeers([&](unsigned peer) { result.push_back(peer); });
  return result;
}

absl::Status MpiCommunicator::enter(const CollectiveSite &site,
                                    const char *what) {
  absl::Status turn = order.await(site.sequence);
  if (!turn.ok()) {
    absl::Status failure = engine->failure();
    return annotate(failure.ok() ? turn : failure, describe(site, what));
  }
  if (options.on_enter) {
    options.on_enter(rank(), site);
  }
  receives.clear();
  sends.clear();
  return absl::OkStatus();
}

absl::Status MpiCommunicator::transfer(const CollectiveSite &site,
                                       const char *what) {
  return engine->transfer(receives, sends,
                          [&] { return describe(site, what); });
}

void MpiCommunicator::leave(const CollectiveSite &site) {
  noteEnd(site, Clock::now());
  order.done();
}

absl::Status
MpiCommunicator::allGather(const CollectiveSite &site,
                           absl::Span<const GatherSegment> segments) {
  ZG_RETURN_IF_ERROR(enter(site, "all_gather"));
  forPeers([&](unsigned peer) {
    for (const GatherSegment &segment : segments) {
      uint64_t bytes = segment.shard_bytes;
      receives.push_back({peer, segment.whole + peer * bytes, bytes});
      sends.push_back({peer, bytesOf(segment.shard), bytes});
      count.gather += bytes;
    }
  });
  for (const GatherSegment &segment : segments) {
    std::byte *place = segment.whole + rank() * segment.shard_bytes;
    if (place != segment.shard) {
      std::memmove(place, segment.shard, segment.shard_bytes);
    }
  }
  ZG_RETURN_IF_ERROR(transfer(site, "all_gather"));
  noteBegin(site, engine->met());
  leave(site);
  return absl::OkStatus();
}

absl::Status MpiCommunicator::reduceScatter(const CollectiveSite &site,
                                            const ReduceScatterCall &call) {
  ZG_RETURN_IF_ERROR(needReducible(call.wire, call.type));
  ZG_RETURN_IF_ERROR(enter(site, "reduce_scatter"));
  for (uint64_t begin = 0; begin < call.shard_bytes;
       begin += call.chunk_bytes) {
    uint64_t bytes = std::min(call.chunk_bytes, call.shard_bytes - begin);
    auto partOf = [&](unsigned owner) {
      return bytesOf(call.whole + owner * call.shard_bytes + begin);
    };
    receives.clear();
    sends.clear();
    for (unsigned peer = 0; peer < world(); ++peer) {
      contributions[peer] = call.staging + peer * call.chunk_bytes;
    }
    forPeers([&](unsigned peer) {
      receives.push_back({peer, bytesOf(contributions[peer]), bytes});
      sends.push_back({peer, partOf(peer), bytes});
      count.reduce += bytes;
    });
    // The own contribution goes through staging too: the shard may lie where
    // it is.
    std::memcpy(bytesOf(contributions[rank()]), partOf(rank()), bytes);
    ZG_RETURN_IF_ERROR(transfer(site, "reduce_scatter"));
    if (begin == 0) {
      noteBegin(site, engine->met());
    }
    foldContributions(call.wire, call.type, call.sumAt(begin), call.accumulate,
                      contributions, call.elements(bytes));
  }
  leave(site);
  return absl::OkStatus();
}

absl::Status MpiCommunicator::allReduce(const CollectiveSite &site,
                                        plan::ElementType type,
                                        absl::Span<const ReduceArray> arrays) {
  ZG_RETURN_IF_ERROR(needReducible(type, type));
  ZG_RETURN_IF_ERROR(enter(site, "all_reduce"));
  uint64_t all = 0;
  for (const ReduceArray &array : arrays) {
    all += array.bytes;
  }
  received.resize(std::max<uint64_t>(received.size(), all * world()));
  // Array comes after array, and in each rank after rank: aligned as its
  // elements.
  forPeers([&](unsigned peer) {
    uint64_t begin = 0;
    for (const ReduceArray &array : arrays) {
      std::byte *place = received.data() + begin * world() + peer * array.bytes;
      receives.push_back({peer, place, array.bytes});
      sends.push_back({peer, bytesOf(array.values), array.bytes});
      begin += array.bytes;
      count.scalar += array.bytes;
    }
  });
  ZG_RETURN_IF_ERROR(transfer(site, "all_reduce"));
  noteBegin(site, engine->met());
  uint64_t begin = 0;
  for (const ReduceArray &array : arrays) {
    for (unsigned peer = 0; peer < world(); ++peer) {
      contributions[peer] = peer == rank() ? array.values
                                           : received.data() + begin * world() +
                                                 peer * array.bytes;
    }
    foldContributions(type, type, array.sum, /*accumulate=*/true, contributions,
                      array.bytes / elementSize(type));
    begin += array.bytes;
  }
  leave(site);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>>
MpiCommunicator::transferTexts(const std::string &what, const std::string &text,
                               absl::Span<const unsigned> to,
                               absl::Span<const unsigned> from) {
  auto where = [&] { return what; };
  uint64_t own = text.size();
  std::vector<uint64_t> sizes(world());
  std::vector<Message> in, out;
  for (unsigned peer : from) {
    in.push_back({peer, bytesOf(&sizes[peer]), sizeof(uint64_t)});
  }
  for (unsigned peer : to) {
    out.push_back({peer, bytesOf(&own), sizeof(own)});
  }
  ZG_RETURN_IF_ERROR(engine->transfer(in, out, where));
  in.clear();
  out.clear();
  std::vector<std::string> texts(world());
  texts[rank()] = text;
  for (unsigned peer : from) {
    texts[peer].resize(sizes[peer]);
    in.push_back({peer, bytesOf(texts[peer].data()), sizes[peer]});
  }
  for (unsigned peer : to) {
    out.push_back({peer, bytesOf(text.data()), own});
  }
  ZG_RETURN_IF_ERROR(engine->transfer(in, out, where));
  return texts;
}

absl::StatusOr<std::vector<std::string>>
MpiCommunicator::exchange(const std::string &what, const std::string &text) {
  return transferTexts(what, text, others(), others());
}

absl::Status MpiCommunicator::barrier(const std::string &what) {
  return exchange(what, "").status();
}

absl::StatusOr<std::vector<std::string>>
MpiCommunicator::collect(const std::string &what, const std::string &text) {
  if (rank() == 0) {
    return transferTexts(what, text, {}, others());
  }
  ZG_RETURN_IF_ERROR(transferTexts(what, text, {0u}, {}).status());
  return std::vector<std::string>();
}

absl::StatusOr<std::string>
MpiCommunicator::broadcast(const std::string &what, const std::string &text) {
  if (rank() == 0) {
    ZG_RETURN_IF_ERROR(transferTexts(what, text, others(), {}).status());
    return text;
  }
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                      transferTexts(what, "", {}, {0u}));
  return texts[0];
}

absl::Status MpiCommunicator::finish() {
  ZG_RETURN_IF_ERROR(barrier("the end of the run"));
  return engine->finish();
}
