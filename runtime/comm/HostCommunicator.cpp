//===- HostCommunicator.cpp - collectives that the processor works on -----===//

#include "runtime/comm/HostCommunicator.h"

#include "runtime/device/host/HostBuffer.h"
#include "runtime/plan/Supported.h"

#include <algorithm>

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

int64_t nanoseconds(std::chrono::steady_clock::time_point time) {
  return time.time_since_epoch() / std::chrono::nanoseconds(1);
}

} // namespace

// Notes nothing for a number that no step is bound to: it has no place.
void HostCommunicator::noteBegin(const CollectiveSite &site,
                                 Clock::time_point time) {
  if (site.sequence < work.size()) {
    work[site.sequence].begin = nanoseconds(time);
  }
}

void HostCommunicator::noteEnd(const CollectiveSite &site,
                               Clock::time_point time) {
  if (site.sequence < work.size()) {
    work[site.sequence].end = nanoseconds(time);
  }
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
