//===- HostCommunicator.cpp - collectives that the processor works on -----===//

#include "runtime/comm/HostCommunicator.h"

#include "runtime/comm/Fold.h"
#include "runtime/device/host/HostBuffer.h"
#include "runtime/plan/Supported.h"

#include <algorithm>
#include <cstring>

using namespace zerograph;

namespace {

/// A call with everything bound.
template <typename Call>
class BlockingOperation final : public Operation {
public:
  BlockingOperation(const HostCommunicator &comm, CollectiveSite site,
                    Call call)
      : comm(comm), site(std::move(site)), call(std::move(call)) {}
  absl::Status issue(const Issue &issue) override {
    absl::Status status = call(site);
    if (issue.work) {
      *issue.work = comm.workTime(site.sequence);
    }
    return status;
  }

private:
  const HostCommunicator &comm;
  CollectiveSite site;
  Call call;
};

template <typename Call>
std::unique_ptr<Operation> blocking(const HostCommunicator &comm,
                                    CollectiveSite site, Call call) {
  return std::make_unique<BlockingOperation<Call>>(comm, std::move(site),
                                                   std::move(call));
}

/// Returns accesses in pairs: two addresses, and the bytes of the first.
template <typename Pair>
absl::StatusOr<std::vector<Pair>>
pairsOf(const plan::Step &step, const std::vector<DeviceRange> &ranges) {
  ZG_ASSIGN_OR_RETURN(auto bytes, bytesOfPairs(step, ranges));
  ZG_ASSIGN_OR_RETURN(auto addresses, hostAddresses(ranges));
  std::vector<Pair> pairs;
  for (size_t i = 0; i < bytes.size(); ++i) {
    pairs.push_back({addresses[2 * i], addresses[2 * i + 1], bytes[i]});
  }
  return pairs;
}

absl::StatusOr<std::unique_ptr<Operation>>
bindGather(HostCommunicator &comm, const plan::Step &step, CollectiveSite site,
           const std::vector<DeviceRange> &ranges) {
  ZG_ASSIGN_OR_RETURN(auto segments, pairsOf<GatherSegment>(step, ranges));
  return blocking(
      comm, std::move(site),
      [&comm, segments = std::move(segments)](const CollectiveSite &site) {
        return comm.allGather(site, segments);
      });
}

absl::StatusOr<std::unique_ptr<Operation>>
bindReduceScatter(HostCommunicator &comm, const plan::ReduceScatter &reduce,
                  CollectiveSite site, const std::vector<DeviceRange> &ranges) {
  ZG_RETURN_IF_ERROR(needRankOrder(reduce, "processors"));
  ZG_RETURN_IF_ERROR(needReducible(reduce.wire(), reduce.accumulator()));
  if (ranges.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", ranges.size(),
                     " accesses, expected gradients, a shard and staging"));
  }
  ReduceScatterCall call;
  call.wire = reduce.wire();
  call.type = reduce.accumulator();
  ZG_ASSIGN_OR_RETURN(auto addresses, hostAddresses(ranges));
  call.whole = addresses[0];
  call.shard = addresses[1];
  call.staging = addresses[2];
  call.shard_bytes =
      call.elements(ranges[0].bytes) / comm.world() * elementSize(call.wire);
  call.chunk_bytes = reduce.chunk_bytes();
  call.accumulate = reduce.accumulate();
  return blocking(comm, std::move(site),
                  [&comm, call](const CollectiveSite &site) {
                    return comm.reduceScatter(site, call);
                  });
}

absl::StatusOr<std::unique_ptr<Operation>>
bindAllReduce(HostCommunicator &comm, const plan::Step &step,
              CollectiveSite site, const std::vector<DeviceRange> &ranges) {
  plan::ElementType type = step.all_reduce().accumulator();
  ZG_RETURN_IF_ERROR(needReducible(type, type));
  ZG_ASSIGN_OR_RETURN(auto arrays, pairsOf<ReduceArray>(step, ranges));
  return blocking(
      comm, std::move(site),
      [&comm, type, arrays = std::move(arrays)](const CollectiveSite &site) {
        return comm.allReduce(site, type, arrays);
      });
}

std::byte *bytesOf(const void *data) {
  return static_cast<std::byte *>(const_cast<void *>(data));
}

int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
  return time.time_since_epoch() / std::chrono::nanoseconds(1);
}

} // namespace

absl::Status HostCommunicator::enter(const CollectiveSite &site,
                                     const char *what) {
  absl::Status turn = order.await(site.sequence);
  if (!turn.ok()) {
    return lostTurn(turn, describe(site, what));
  }
  if (on_enter) {
    on_enter(rank(), site);
  }
  receives.clear();
  sends.clear();
  contributions.resize(world());
  return absl::OkStatus();
}

absl::Status HostCommunicator::transfer(const CollectiveSite &site,
                                        const char *what, bool first) {
  ZG_ASSIGN_OR_RETURN(Clock::time_point met,
                      transfer(site, what, receives, sends));
  if (first && site.sequence < work.size()) { // else no step is bound to it
    work[site.sequence].begin = nanoseconds(met);
  }
  return absl::OkStatus();
}

absl::Status HostCommunicator::leave(const CollectiveSite &site,
                                     const char *what) {
  if (site.sequence < work.size()) {
    work[site.sequence].end = nanoseconds(Clock::now());
  }
  ZG_RETURN_IF_ERROR(awaitReaders(site, what));
  order.done();
  return absl::OkStatus();
}

absl::Status
HostCommunicator::allGather(const CollectiveSite &site,
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
  return leave(site, "all_gather");
}

absl::Status HostCommunicator::reduceScatter(const CollectiveSite &site,
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
    ZG_RETURN_IF_ERROR(transfer(site, "reduce_scatter", begin == 0));
    foldContributions(call.wire, call.type, call.sumAt(begin), call.accumulate,
                      contributions, call.elements(bytes));
  }
  return leave(site, "reduce_scatter");
}

absl::Status HostCommunicator::allReduce(const CollectiveSite &site,
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
  return leave(site, "all_reduce");
}

absl::StatusOr<std::unique_ptr<Operation>>
HostCommunicator::bind(const plan::Step &step, CollectiveSite site,
                       absl::Span<const unsigned> group,
                       std::vector<DeviceRange> ranges) {
  ZG_RETURN_IF_ERROR(needAllRanks(group, world()));
  work.resize(std::max<size_t>(work.size(), site.sequence + 1));
  switch (step.op_case()) {
  case plan::Step::kAllGather:
    return bindGather(*this, step, std::move(site), ranges);
  case plan::Step::kReduceScatter:
    return bindReduceScatter(*this, step.reduce_scatter(), std::move(site),
                             ranges);
  case plan::Step::kAllReduce:
    return bindAllReduce(*this, step, std::move(site), ranges);
  default:
    return absl::InvalidArgumentError("it is no collective");
  }
}
