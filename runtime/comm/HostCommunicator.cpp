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

absl::Status needPairs(const std::vector<DeviceRange> &ranges) {
  if (ranges.size() % 2 == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "it has ", ranges.size(), " accesses, expected pairs of them"));
}

absl::StatusOr<std::unique_ptr<Operation>>
bindGather(HostCommunicator &comm, CollectiveSite site,
           const std::vector<DeviceRange> &ranges) {
  ZG_RETURN_IF_ERROR(needPairs(ranges));
  std::vector<GatherSegment> segments;
  for (size_t i = 0; i < ranges.size(); i += 2) {
    GatherSegment segment;
    ZG_ASSIGN_OR_RETURN(segment.shard, hostAddress(ranges[i]));
    ZG_ASSIGN_OR_RETURN(segment.whole, hostAddress(ranges[i + 1]));
    segment.shard_bytes = ranges[i].bytes;
    segments.push_back(segment);
  }
  return blocking(
      [&comm, site = std::move(site), segments = std::move(segments)] {
        return comm.allGather(site, segments);
      });
}

absl::StatusOr<std::unique_ptr<Operation>>
bindReduceScatter(HostCommunicator &comm, const plan::ReduceScatter &reduce,
                  CollectiveSite site, const std::vector<DeviceRange> &ranges) {
  ZG_RETURN_IF_ERROR(checkFoldType(reduce.accumulator()));
  if (ranges.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", ranges.size(),
                     " accesses, expected gradients, a shard and staging"));
  }
  ReduceScatterCall call;
  call.type = reduce.accumulator();
  ZG_ASSIGN_OR_RETURN(call.whole, hostAddress(ranges[0]));
  ZG_ASSIGN_OR_RETURN(call.shard, hostAddress(ranges[1]));
  ZG_ASSIGN_OR_RETURN(call.staging, hostAddress(ranges[2]));
  call.shard_bytes = ranges[1].bytes;
  call.chunk_bytes = reduce.chunk_bytes();
  call.accumulate = reduce.accumulate();
  return blocking([&comm, site = std::move(site), call] {
    return comm.reduceScatter(site, call);
  });
}

absl::StatusOr<std::unique_ptr<Operation>>
bindAllReduce(HostCommunicator &comm, plan::ElementType type,
              CollectiveSite site, const std::vector<DeviceRange> &ranges) {
  ZG_RETURN_IF_ERROR(checkFoldType(type));
  ZG_RETURN_IF_ERROR(needPairs(ranges));
  std::vector<ReduceArray> arrays;
  for (size_t i = 0; i < ranges.size(); i += 2) {
    ReduceArray array;
    ZG_ASSIGN_OR_RETURN(array.values, hostAddress(ranges[i]));
    ZG_ASSIGN_OR_RETURN(array.sum, hostAddress(ranges[i + 1]));
    array.bytes = ranges[i].bytes;
    arrays.push_back(array);
  }
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
  bool all = group.size() == world();
  for (unsigned i = 0; all && i < group.size(); ++i) {
    all = group[i] == i;
  }
  if (!all) {
    return absl::UnimplementedError(
        absl::StrCat("a collective of ", group.size(), " of ", world(),
                     " ranks was asked for; here all ranks take part in each"));
  }
  switch (step.op_case()) {
  case plan::Step::kAllGather:
    return bindGather(*this, std::move(site), ranges);
  case plan::Step::kReduceScatter:
    return bindReduceScatter(*this, step.reduce_scatter(), std::move(site),
                             ranges);
  case plan::Step::kAllReduce:
    return bindAllReduce(*this, step.all_reduce().accumulator(),
                         std::move(site), ranges);
  default:
    return absl::InvalidArgumentError("it is no collective");
  }
}
