//===- NcclCollectives.cpp - ranks with a GPU each ------------------------===//

#include "runtime/comm/nccl/NcclCollectives.h"

#include "runtime/base/Cause.h"
#include "runtime/comm/Collectives.h"
#include "runtime/comm/cuda/LaunchFold.h"
#include "runtime/comm/cuda/QueueOrder.h"
#include "runtime/comm/nccl/NcclComm.h"
#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/CudaModule.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// The state that the collectives of a rank share, used by the thread that
/// issues.
struct NcclRank {
  const NcclApi *api = nullptr;
  const CudaModule *module = nullptr;
  NcclComm *comm = nullptr;
  unsigned rank = 0, world = 1;
  bool alone = true; // in its process
  /// Orders collectives; one is complete when this rank is done with it.
  QueueOrder order;
  TrafficCount count;
};

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

/// Puts what a subclass enqueues after the collective before.
class NcclCollective : public Operation {
public:
  NcclCollective(NcclRank &self, CollectiveSite site, const char *what,
                 std::vector<CUdeviceptr> addresses)
      : self(self), nccl(*self.api), cuda(self.module->gpu()->api),
        addresses(std::move(addresses)), sequence(site.sequence),
        text(describe(site, what)) {}
  ~NcclCollective() override {
    if (complete && self.module->gpu()->enter().ok()) {
      cuda.cuEventDestroy(complete);
    }
  }

  absl::Status makeEvent() {
    ZG_RETURN_IF_ERROR(self.module->gpu()->enter());
    ZG_CUDA(cuda, cuEventCreate, &complete, CU_EVENT_DISABLE_TIMING);
    return absl::OkStatus();
  }

  absl::Status issue(const Issue &issue) override {
    auto *stream = static_cast<CUstream>(issue.stream);
    ZG_RETURN_IF_ERROR(self.order.begin(cuda, stream, sequence, text));
    ZG_RETURN_IF_ERROR(explain(enqueue(stream)));
    return self.order.end(cuda, stream, complete);
  }

  /// Returns whether it can be recorded: NCCL may deadlock when a process
  /// records for several GPUs.
  Replay replay() const override {
    return self.alone ? Replay::Whole : Replay::Never;
  }
  void enqueued() override { count(self.count); }
  absl::Status check() override { return explain(self.comm->check()); }

protected:
  virtual absl::Status enqueue(CUstream stream) = 0;
  /// Adds what a run receives from other ranks.
  virtual void count(TrafficCount &traffic) const = 0;

  NcclRank &self;
  const NcclApi &nccl;
  const CudaApi &cuda;
  const std::vector<CUdeviceptr> addresses; // one an access

private:
  /// Adds this collective to an error, unless it is another rank's, which tells
  /// nothing of it.
  absl::Status explain(const absl::Status &status) const {
    return status.ok() || isCollateral(status)
               ? status
               : annotate(status, absl::StrCat("rank ", self.rank, ", ", text));
  }

  uint32_t sequence;
  std::string text; // for messages, made once
  CUevent complete = nullptr;
};

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

/// Has three accesses: the whole, the shard, staging.
class NcclReduceScatter : public NcclCollective {
public:
  using NcclCollective::NcclCollective;
  plan::ReduceScatter reduce;
  uint64_t part_bytes = 0; // that a rank gives another

protected:
  void count(TrafficCount &traffic) const override {
    traffic.reduce += (self.world - 1) * part_bytes;
  }
  CUdeviceptr whole() const { return addresses[0]; }
  CUdeviceptr shard() const { return addresses[1]; }
  CUdeviceptr staging() const { return addresses[2]; }
};

/// Uses staging for a chunk of every rank.
class NcclExactReduceScatter final : public NcclReduceScatter {
public:
  using NcclReduceScatter::NcclReduceScatter;

protected:
  absl::Status enqueue(CUstream stream) override {
    uint64_t chunk = reduce.chunk_bytes();
    for (uint64_t begin = 0; begin < part_bytes; begin += chunk) {
      uint64_t part = std::min(chunk, part_bytes - begin);
      ZG_RETURN_IF_ERROR(exchange(stream, begin, part));
      CUdeviceptr sum = shard() + sumOffset(reduce, begin);
      ZG_RETURN_IF_ERROR(launchFold(*self.module, stream,
                                    {reduce.wire(), sum, staging(), chunk,
                                     self.world, part, reduce.accumulate()}));
    }
    return absl::OkStatus();
  }

private:
  /// Exchanges a chunk; every rank begins with another peer. The own
  /// contribution goes through staging too: the shard may lie where it is.
  absl::Status exchange(CUstream stream, uint64_t begin, uint64_t size) {
    auto part = [&](unsigned rank) {
      return whole() + rank * part_bytes + begin;
    };
    auto place = [&](unsigned rank) {
      return staging() + rank * reduce.chunk_bytes();
    };
    ZG_CUDA(cuda, cuMemcpyAsync, place(self.rank), part(self.rank), size,
            stream);
    return self.comm->group([&](ncclComm_t comm) {
      for (unsigned i = 1; i < self.world; ++i) {
        unsigned to = (self.rank + i) % self.world;
        unsigned from = (self.rank + self.world - i) % self.world;
        ZG_NCCL(nccl, ncclSend, pointer(part(to)), size, ncclUint8, int(to),
                comm, stream);
        ZG_NCCL(nccl, ncclRecv, pointer(place(from)), size, ncclUint8,
                int(from), comm, stream);
      }
      return absl::OkStatus();
    });
  }
};

/// Uses staging, if any, for the sum before the shard takes it.
class NcclFastReduceScatter final : public NcclReduceScatter {
public:
  using NcclReduceScatter::NcclReduceScatter;

protected:
  absl::Status enqueue(CUstream stream) override {
    bool wide = reduce.accumulator() == plan::F64;
    uint64_t count = part_bytes / (wide ? sizeof(double) : sizeof(float));
    CUdeviceptr sum = reduce.accumulate() ? staging() : shard();
    ZG_RETURN_IF_ERROR(self.comm->group([&](ncclComm_t comm) {
      ZG_NCCL(nccl, ncclReduceScatter, pointer(whole()), pointer(sum), count,
              wide ? ncclFloat64 : ncclFloat32, ncclSum, comm, stream);
      return absl::OkStatus();
    }));
    if (!reduce.accumulate()) {
      return absl::OkStatus();
    }
    GpuFold add;
    add.wire = reduce.wire();
    add.sum = shard();
    add.contributions = staging();
    add.bytes = part_bytes;
    return launchFold(*self.module, stream, add);
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
bindReduceScatter(NcclRank &rank, const plan::ReduceScatter &reduce,
                  CollectiveSite site, const std::vector<DeviceRange> &ranges,
                  std::vector<CUdeviceptr> addresses) {
  bool staged = !reduce.any_order() || reduce.accumulate();
  if (ranges.size() != (staged ? 3 : 2)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it has ", ranges.size(), " accesses, expected gradients, a shard",
        staged ? " and staging" : ""));
  }
  std::unique_ptr<NcclReduceScatter> bound;
  if (reduce.any_order()) {
    bound = std::make_unique<NcclFastReduceScatter>(
        rank, std::move(site), "reduce_scatter", std::move(addresses));
  } else {
    bound = std::make_unique<NcclExactReduceScatter>(
        rank, std::move(site), "reduce_scatter", std::move(addresses));
  }
  bound->reduce = reduce;
  bound->part_bytes = ranges[0].bytes / rank.world;
  return bound;
}

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
    ZG_ASSIGN_OR_RETURN(bound, bindReduceScatter(rank, step.reduce_scatter(),
                                                 std::move(site), ranges,
                                                 std::move(addresses)));
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
