//===- NcclCollectives.cpp - ranks with a GPU each ------------------------===//

#include "runtime/comm/nccl/NcclCollectives.h"

#include "runtime/comm/Collectives.h"
#include "runtime/comm/cuda/LaunchFold.h"
#include "runtime/comm/nccl/NcclReduceScatter.h"
#include "runtime/device/cuda/CudaBuffer.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// Has accesses in pairs: a shard, and the whole that holds every rank's. A
/// shard that lies in its place there is gathered in place.
class NcclGather final : public NcclCollective {
public:
  using NcclCollective::NcclCollective;
  std::vector<uint64_t> shard_bytes; // a pair

protected:
  absl::Status enqueue(CUstream stream) override {
    return self.comm->group([&](ncclComm_t comm) {
      for (size_t pair = 0; pair < shard_bytes.size(); ++pair) {
        ZG_NCCL(nccl, ncclAllGather, pointer(addresses[2 * pair]),
                pointer(addresses[2 * pair + 1]), shard_bytes[pair], ncclUint8,
                comm, stream);
      }
      return absl::OkStatus();
    });
  }
  void count(TrafficCount &traffic) const override {
    for (uint64_t bytes : shard_bytes) {
      traffic.gather += (self.world - 1) * bytes;
    }
  }
};

/// Has accesses in pairs, this rank's values and their sum, and then staging,
/// which takes every rank's values of the first pair, then of the second.
class NcclAllReduce final : public NcclCollective {
public:
  using NcclCollective::NcclCollective;
  plan::ElementType type = plan::F32;
  std::vector<uint64_t> bytes; // a pair

protected:
  absl::Status enqueue(CUstream stream) override {
    ZG_RETURN_IF_ERROR(self.comm->group([&](ncclComm_t comm) {
      CUdeviceptr place = addresses.back();
      for (size_t pair = 0; pair < bytes.size(); ++pair) {
        ZG_NCCL(nccl, ncclAllGather, pointer(addresses[2 * pair]),
                pointer(place), bytes[pair], ncclUint8, comm, stream);
        place += self.world * bytes[pair];
      }
      return absl::OkStatus();
    }));
    CUdeviceptr place = addresses.back();
    for (size_t pair = 0; pair < bytes.size(); ++pair) {
      ZG_RETURN_IF_ERROR(launchFold(*self.module, stream,
                                    {type, addresses[2 * pair + 1], place,
                                     bytes[pair], self.world, bytes[pair],
                                     /*accumulate=*/true}));
      place += self.world * bytes[pair];
    }
    return absl::OkStatus();
  }
  void count(TrafficCount &traffic) const override {
    for (uint64_t own : bytes) {
      traffic.scalar += (self.world - 1) * own;
    }
  }
};

absl::StatusOr<std::unique_ptr<NcclCollective>>
bindAllReduce(NcclRank &rank, const plan::Step &step, CollectiveSite site,
              const std::vector<DeviceRange> &ranges,
              std::vector<CUdeviceptr> addresses) {
  if (ranges.size() % 2 == 0) {
    return absl::FailedPreconditionError(
        "the plan has no staging for the values of all ranks, which NCCL "
        "needs: compile it anew");
  }
  auto bound = std::make_unique<NcclAllReduce>(
      rank, std::move(site), "all_reduce", std::move(addresses));
  bound->type = step.all_reduce().accumulator();
  ZG_ASSIGN_OR_RETURN(bound->bytes, bytesOfPairs(step, ranges));
  return bound;
}

absl::StatusOr<std::unique_ptr<Operation>>
bindNcclCollective(NcclRank &rank, const plan::Step &step, CollectiveSite site,
                   const std::vector<DeviceRange> &ranges) {
  ZG_ASSIGN_OR_RETURN(std::vector<CUdeviceptr> addresses,
                      cudaAddresses(ranges));
  std::unique_ptr<NcclCollective> bound;
  if (step.op_case() == plan::Step::kAllGather) {
    auto gather = std::make_unique<NcclGather>(
        rank, std::move(site), "all_gather", std::move(addresses));
    ZG_ASSIGN_OR_RETURN(gather->shard_bytes, bytesOfPairs(step, ranges));
    bound = std::move(gather);
  } else if (step.op_case() == plan::Step::kReduceScatter) {
    ZG_ASSIGN_OR_RETURN(bound, bindNcclReduceScatter(
                                   rank, step.reduce_scatter(), std::move(site),
                                   ranges, std::move(addresses)));
  } else if (step.op_case() == plan::Step::kAllReduce) {
    ZG_ASSIGN_OR_RETURN(bound, bindAllReduce(rank, step, std::move(site),
                                             ranges, std::move(addresses)));
  } else {
    return absl::InvalidArgumentError("it is no collective");
  }
  ZG_RETURN_IF_ERROR(bound->makeEvent());
  return bound;
}

class NcclCollectives final : public Collectives {
public:
  NcclCollectives(const NcclApi &api, const CudaModule &module,
                  ControlPlane &control, ExchangeOptions options)
      : control(control), options(std::move(options)) {
    self.api = &api;
    self.module = &module;
    self.rank = control.rank();
    self.world = control.world();
    self.alone = !control.inOneProcess();
  }

  unsigned world() const override { return self.world; }
  unsigned rank() const override { return self.rank; }

  absl::Status open() override {
    if (comm) {
      return absl::OkStatus();
    }
    using Duration = NcclComm::Clock::duration;
    ZG_ASSIGN_OR_RETURN(
        comm, NcclComm::join(*self.api, self.module->gpu(), control,
                             std::chrono::duration_cast<Duration>(std::min(
                                 options.deadline, kLongestDeadline))));
    self.comm = comm.get();
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Operation>>
  bind(const plan::Step &step, CollectiveSite site,
       absl::Span<const unsigned> group,
       std::vector<DeviceRange> ranges) override {
    ZG_RETURN_IF_ERROR(needAllRanks(group, world()));
    ZG_RETURN_IF_ERROR(open());
    for (const DeviceRange &range : ranges) {
      ZG_RETURN_IF_ERROR(registerOnce(*range.buffer));
    }
    return bindNcclCollective(self, step, std::move(site), ranges);
  }

  void abort(const absl::Status &status) override {
    if (comm) {
      comm->abort(status);
    }
    control.abort(status);
  }

  absl::Status close() override {
    return comm ? annotate(comm->close(), "ending NCCL") : absl::OkStatus();
  }

  TrafficCount traffic() const override { return self.count; }

private:
  /// Registers a whole arena. Without it NCCL copies through buffers of its
  /// own.
  absl::Status registerOnce(Buffer &buffer) {
    if (std::find(known.begin(), known.end(), &buffer) != known.end()) {
      return absl::OkStatus();
    }
    known.push_back(&buffer);
    ZG_ASSIGN_OR_RETURN(CUdeviceptr begin,
                        cudaAddress({&buffer, 0, buffer.bytes()}));
    ZG_ASSIGN_OR_RETURN(std::string note,
                        comm->registerMemory(begin, buffer.bytes()));
    if (!note.empty() && options.say) {
      options.say(absl::StrCat("rank ", rank(), ": ", note));
    }
    return absl::OkStatus();
  }

  ControlPlane &control;
  const ExchangeOptions options;
  NcclRank self;
  std::unique_ptr<NcclComm> comm; // once it is open
  std::vector<const Buffer *> known;
};

} // namespace

absl::StatusOr<std::unique_ptr<Collectives>>
zerograph::makeNcclCollectives(const Module &module, ControlPlane &control,
                               const ExchangeOptions &options) {
  ZG_ASSIGN_OR_RETURN(const NcclApi *api, ncclApi());
  return std::make_unique<NcclCollectives>(
      *api, static_cast<const CudaModule &>(module), control, options);
}
