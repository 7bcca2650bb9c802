//===- HostCommunicator.cpp - collectives that the processor works on -----===//

#include "runtime/comm/HostCommunicator.h"

#include "runtime/comm/Fold.h"
#include "runtime/device/host/HostBuffer.h"

using namespace zerograph;

namespace {

/// A call with everything bound.
template <typename Call>
class BlockingOperation final : public Operation {
public:
  explicit BlockingOperation(Call call) : call(std::move(call)) {}
  absl::Status issue(const Issue &) override { return call(); }

private:
  Call call;
};

template <typename Call>
std::unique_ptr<Operation> blocking(Call call) {
  return std::make_unique<BlockingOperation<Call>>(std::move(call));
}

/// Accesses in pairs: two addresses, and the bytes of the first.
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
      [&comm, site = std::move(site), segments = std::move(segments)] {
        return comm.allGather(site, segments);
      });
}

absl::StatusOr<std::unique_ptr<Operation>>
bindReduceScatter(HostCommunicator &comm, const plan::ReduceScatter &reduce,
                  CollectiveSite site, const std::vector<DeviceRange> &ranges) {
  ZG_RETURN_IF_ERROR(needRankOrder(reduce, "processors"));
  ZG_RETURN_IF_ERROR(checkFoldType(reduce.accumulator()));
  if (ranges.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", ranges.size(),
                     " accesses, expected gradients, a shard and staging"));
  }
  ReduceScatterCall call;
  call.type = reduce.accumulator();
  ZG_ASSIGN_OR_RETURN(auto addresses, hostAddresses(ranges));
  call.whole = addresses[0];
  call.shard = addresses[1];
  call.staging = addresses[2];
  call.shard_bytes = ranges[1].bytes;
  call.chunk_bytes = reduce.chunk_bytes();
  call.accumulate = reduce.accumulate();
  return blocking([&comm, site = std::move(site), call] {
    return comm.reduceScatter(site, call);
  });
}

absl::StatusOr<std::unique_ptr<Operation>>
bindAllReduce(HostCommunicator &comm, const plan::Step &step,
              CollectiveSite site, const std::vector<DeviceRange> &ranges) {
  plan::ElementType type = step.all_reduce().accumulator();
  ZG_RETURN_IF_ERROR(checkFoldType(type));
  ZG_ASSIGN_OR_RETURN(auto arrays, pairsOf<ReduceArray>(step, ranges));
  return blocking(
      [&comm, type, site = std::move(site), arrays = std::move(arrays)] {
        return comm.allReduce(site, type, arrays);
      });
}

} // namespace

absl::StatusOr<std::unique_ptr<Operation>>
HostCommunicator::bind(const plan::Step &step, CollectiveSite site,
                       absl::Span<const unsigned> group,
                       std::vector<DeviceRange> ranges) {
  ZG_RETURN_IF_ERROR(needAllRanks(group, world()));
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
