//===- GpuGroup.cpp - ranks that share a GPU ------------------------------===//

#include "runtime/comm/cuda/GpuGroup.h"

#include "runtime/comm/Collectives.h"
#include "runtime/comm/ControlPlane.h"
#include "runtime/comm/cuda/LaunchFold.h"
#include "runtime/comm/cuda/QueueOrder.h"
#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/CudaModule.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

using namespace zerograph;

namespace {

/// The part of a collective that a rank shows the others: where its accesses
/// lie, and when what it gives is there and what it takes is taken.
struct GpuShown {
  std::vector<CUdeviceptr> addresses;
  CUevent ready = nullptr, done = nullptr;
};

/// The state that the ranks of a process share: what each rank shows of each
/// collective, by program and sequence number.
struct GpuGroup {
  GpuGroup(const CudaModule &module, size_t world)
      : module(module), world(world) {}
  ~GpuGroup();

  /// Returns what all ranks show of a collective; from any thread. It stays
  /// where it is.
  std::vector<GpuShown> &shownOf(const CollectiveSite &site);
  /// Makes an event that lives as long as the group.
  absl::Status makeEvent(CUevent &event);

  const CudaModule &module;
  const size_t world;

private:
  std::mutex mutex;
  /// Has an entry for each collective, by the number of its program.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<GpuShown>> shown;
  std::vector<CUevent> events;
};

/// The state of a rank, used by the thread that issues its programs.
struct GpuRank {
  unsigned rank = 0;
  /// Orders collectives; one is complete when all ranks are done with it.
  QueueOrder order;
  TrafficCount count;
};

GpuGroup::~GpuGroup() {
  if (module.gpu()->enter().ok()) {
    for (CUevent event : events) {
      module.gpu()->api.cuEventDestroy(event);
    }
  }
}

std::vector<GpuShown> &GpuGroup::shownOf(const CollectiveSite &site) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<GpuShown> &ranks = shown[{site.number, site.sequence}];
  ranks.resize(world);
  return ranks;
}

absl::Status GpuGroup::makeEvent(CUevent &event) {
  const CudaContext &gpu = *module.gpu();
  ZG_RETURN_IF_ERROR(gpu.enter());
  ZG_CUDA(gpu.api, cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  std::lock_guard<std::mutex> lock(mutex);
  events.push_back(event);
  return absl::OkStatus();
}

/// Waits for the others on the stream, lets a subclass enqueue its copies, and
/// keeps the stream until the others have theirs.
class GpuCollective : public Operation {
public:
  GpuCollective(GpuGroup &group, ControlPlane &control, GpuRank &self,
                CollectiveSite site, const char *what)
      : group(group), control(control), self(self), site(std::move(site)),
        text(describe(this->site, what)), begin_text("begin of " + text),
        end_text("end of " + text), shown(group.shownOf(this->site)),
        api(group.module.gpu()->api) {}

  absl::Status bind(std::vector<CUdeviceptr> addresses) {
    GpuShown &own = shown[self.rank];
    own.addresses = std::move(addresses);
    ZG_RETURN_IF_ERROR(group.makeEvent(own.ready));
    ZG_RETURN_IF_ERROR(group.makeEvent(own.done));
    return group.makeEvent(complete);
  }

  absl::Status issue(const Issue &issue) override {
    auto *stream = static_cast<CUstream>(issue.stream);
    ZG_RETURN_IF_ERROR(self.order.begin(api, stream, site.sequence, text));
    ZG_RETURN_IF_ERROR(meet(stream, &GpuShown::ready, begin_text));
    ZG_RETURN_IF_ERROR(enqueue(stream));
    ZG_RETURN_IF_ERROR(meet(stream, &GpuShown::done, end_text));
    return self.order.end(api, stream, complete);
  }
  void enqueued() override { count(self.count); }

protected:
  /// Adds what a run receives from other ranks.
  virtual void count(TrafficCount &traffic) const = 0;
  /// Enqueues the copies, once what all ranks give is there.
  virtual absl::Status enqueue(CUstream stream) = 0;

  unsigned world() const { return unsigned(group.world); }
  /// Returns the address of access `access` of a rank.
  CUdeviceptr of(unsigned rank, size_t access) const {
    return shown[rank].addresses[access];
  }
  absl::Status copy(CUstream stream, CUdeviceptr to, CUdeviceptr from,
                    uint64_t bytes) {
    ZG_CUDA(api, cuMemcpyAsync, to, from, bytes, stream);
    return absl::OkStatus();
  }
  absl::Status fold(CUstream stream, const GpuFold &fold) {
    return launchFold(group.module, stream, fold);
  }

  GpuGroup &group;
  ControlPlane &control;
  GpuRank &self;

private:
  /// Meets the others: every rank records an event, and this stream awaits
  /// them.
  absl::Status meet(CUstream stream, CUevent GpuShown::*event,
                    const std::string &place) {
    ZG_CUDA(api, cuEventRecord, shown[self.rank].*event, stream);
    ZG_RETURN_IF_ERROR(control.barrier(place));
    for (unsigned peer = 0; peer < world(); ++peer) {
      if (peer != self.rank) {
        ZG_CUDA(api, cuStreamWaitEvent, stream, shown[peer].*event, 0);
      }
    }
    return absl::OkStatus();
  }

  CollectiveSite site;
  /// Texts for messages, made once.
  std::string text, begin_text, end_text;
  std::vector<GpuShown> &shown;
  const CudaApi &api;
  CUevent complete = nullptr;
};

/// Has accesses in pairs: a shard, and the whole that holds every rank's.
class GpuGather final : public GpuCollective {
public:
  using GpuCollective::GpuCollective;
  std::vector<uint64_t> shard_bytes; // a pair

protected:
  absl::Status enqueue(CUstream stream) override {
    for (unsigned i = 0; i < world(); ++i) {
      unsigned peer = (self.rank + i) % world();
      for (size_t pair = 0; pair < shard_bytes.size(); ++pair) {
        uint64_t bytes = shard_bytes[pair];
        CUdeviceptr place = of(self.rank, 2 * pair + 1) + peer * bytes;
        CUdeviceptr shard = of(peer, 2 * pair);
        if (place != shard) {
          ZG_RETURN_IF_ERROR(copy(stream, place, shard, bytes));
        }
      }
    }
    return absl::OkStatus();
  }
  void count(TrafficCount &traffic) const override {
    for (uint64_t bytes : shard_bytes) {
      traffic.gather += (world() - 1) * bytes;
    }
  }
};

/// Has three accesses: the whole, the shard, staging for a chunk of every rank.
class GpuReduceScatter final : public GpuCollective {
public:
  using GpuCollective::GpuCollective;
  plan::ReduceScatter reduce;
  uint64_t part_bytes = 0; // that a rank gives another

protected:
  absl::Status enqueue(CUstream stream) override {
    uint64_t chunk = reduce.chunk_bytes();
    CUdeviceptr staging = of(self.rank, 2);
    for (uint64_t begin = 0; begin < part_bytes; begin += chunk) {
      uint64_t part = std::min(chunk, part_bytes - begin);
      for (unsigned peer = 0; peer < world(); ++peer) {
        // The own contribution is copied too: the shard may lie where it is.
        CUdeviceptr from = of(peer, 0) + self.rank * part_bytes + begin;
        ZG_RETURN_IF_ERROR(copy(stream, staging + peer * chunk, from, part));
      }
      CUdeviceptr sum = of(self.rank, 1) + sumOffset(reduce, begin);
      ZG_RETURN_IF_ERROR(fold(stream, {reduce.wire(), sum, staging, chunk,
                                       world(), part, reduce.accumulate()}));
    }
    return absl::OkStatus();
  }
  void count(TrafficCount &traffic) const override {
    traffic.reduce += (world() - 1) * part_bytes;
  }
};

/// Has accesses in pairs: this rank's values, and their sum. Staging is not
/// needed: here ranks see each other's memory.
class GpuAllReduce final : public GpuCollective {
public:
  using GpuCollective::GpuCollective;
  plan::ElementType type = plan::F32;
  std::vector<uint64_t> bytes; // a pair

protected:
  absl::Status enqueue(CUstream stream) override {
    for (size_t pair = 0; pair < bytes.size(); ++pair) {
      for (unsigned peer = 0; peer < world(); ++peer) {
        GpuFold add;
        add.wire = type;
        add.sum = of(self.rank, 2 * pair + 1);
        add.contributions = of(peer, 2 * pair);
        add.bytes = bytes[pair];
        ZG_RETURN_IF_ERROR(fold(stream, add));
      }
    }
    return absl::OkStatus();
  }
  void count(TrafficCount &traffic) const override {
    for (uint64_t own : bytes) {
      traffic.scalar += (world() - 1) * own;
    }
  }
};

absl::StatusOr<std::unique_ptr<Operation>>
bindGpuCollective(GpuGroup &group, ControlPlane &control, GpuRank &rank,
                  const plan::Step &step, CollectiveSite site,
                  const std::vector<DeviceRange> &ranges) {
  ZG_ASSIGN_OR_RETURN(std::vector<CUdeviceptr> addresses,
                      cudaAddresses(ranges));
  std::unique_ptr<GpuCollective> bound;
  if (step.op_case() == plan::Step::kAllGather) {
    auto gather = std::make_unique<GpuGather>(group, control, rank,
                                              std::move(site), "all_gather");
    ZG_ASSIGN_OR_RETURN(gather->shard_bytes, bytesOfPairs(step, ranges));
    bound = std::move(gather);
  } else if (step.op_case() == plan::Step::kReduceScatter) {
    ZG_RETURN_IF_ERROR(needRankOrder(step.reduce_scatter(), "one GPU"));
    if (ranges.size() != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("it has ", ranges.size(),
                       " accesses, expected gradients, a shard and staging"));
    }
    auto reduce = std::make_unique<GpuReduceScatter>(
        group, control, rank, std::move(site), "reduce_scatter");
    reduce->reduce = step.reduce_scatter();
    reduce->part_bytes = ranges[0].bytes / group.world;
    bound = std::move(reduce);
  } else if (step.op_case() == plan::Step::kAllReduce) {
    auto reduce = std::make_unique<GpuAllReduce>(group, control, rank,
                                                 std::move(site), "all_reduce");
    reduce->type = step.all_reduce().accumulator();
    ZG_ASSIGN_OR_RETURN(reduce->bytes, bytesOfPairs(step, ranges));
    bound = std::move(reduce);
  } else {
    return absl::InvalidArgumentError("it is no collective");
  }
  ZG_RETURN_IF_ERROR(bound->bind(std::move(addresses)));
  return bound;
}

class GpuCollectives final : public Collectives {
public:
  GpuCollectives(std::shared_ptr<GpuGroup> group, ControlPlane &control)
      : group(std::move(group)), control(control) {
    state.rank = control.rank();
  }

  unsigned world() const override { return control.world(); }
  unsigned rank() const override { return control.rank(); }
  absl::StatusOr<std::unique_ptr<Operation>>
  bind(const plan::Step &step, CollectiveSite site,
       absl::Span<const unsigned> ranks,
       std::vector<DeviceRange> ranges) override {
    ZG_RETURN_IF_ERROR(needAllRanks(ranks, world()));
    return bindGpuCollective(*group, control, state, step, std::move(site),
                             ranges);
  }
  void abort(const absl::Status &status) override { control.abort(status); }
  TrafficCount traffic() const override { return state.count; }

private:
  std::shared_ptr<GpuGroup> group;
  ControlPlane &control;
  GpuRank state;
};

} // namespace

std::vector<std::unique_ptr<Collectives>>
zerograph::makeGpuGroup(const Module &module,
                        absl::Span<ControlPlane *const> controls) {
  std::vector<std::unique_ptr<Collectives>> ranks;
  auto group = std::make_shared<GpuGroup>(
      static_cast<const CudaModule &>(module), controls.size());
  for (ControlPlane *control : controls) {
    ranks.push_back(std::make_unique<GpuCollectives>(group, *control));
  }
  return ranks;
}
