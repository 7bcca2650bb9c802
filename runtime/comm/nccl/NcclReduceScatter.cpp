//===- NcclReduceScatter.cpp - sums of what all ranks have, by NCCL -------===//

#include "runtime/comm/nccl/NcclReduceScatter.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// Has three accesses: the whole, the shard, staging.
class NcclReduceScatter : public NcclCollective {
public:
  using NcclCollective::NcclCollective;
  plan::ReduceScatter reduce;
  uint64_t part_bytes = 0; // that a rank gives another

  /// Makes what it needs besides these, once they are set.
  virtual absl::Status open() { return absl::OkStatus(); }

protected:
  void count(TrafficCount &traffic) const override {
    traffic.reduce += (self.world - 1) * part_bytes;
  }
  CUdeviceptr whole() const { return addresses[0]; }
  CUdeviceptr shard() const { return addresses[1]; }
  CUdeviceptr staging() const { return addresses[2]; }
};

/// Uses staging for a chunk of every rank: as a whole or, where more than a
/// half is exchanged, each half in turn, so that one is added up while the next
/// is exchanged.
class NcclExactReduceScatter final : public NcclReduceScatter {
public:
  using NcclReduceScatter::NcclReduceScatter;

  absl::Status open() override {
    uint64_t half = reduce.chunk_bytes() / 2 / kAlignment * kAlignment;
    overlaps = half >= kLeastHalf && part_bytes > half;
    chunk = overlaps ? half : reduce.chunk_bytes();
    if (overlaps && !self.folds) {
      ZG_ASSIGN_OR_RETURN(self.folds, FoldStream::make(self.module->gpu()));
    }
    return absl::OkStatus();
  }

protected:
  absl::Status enqueue(CUstream stream) override {
    if (!overlaps) {
      return inTurn(stream);
    }
    absl::Status status = beside(stream);
    // Also after a failure: who awaits the stream awaits what was launched.
    status.Update(self.folds->join(stream));
    return status;
  }

private:
  /// Exchanges and adds up one chunk after the other.
  absl::Status inTurn(CUstream stream) {
    for (uint64_t begin = 0; begin < part_bytes; begin += chunk) {
      uint64_t part = std::min(chunk, part_bytes - begin);
      ZG_RETURN_IF_ERROR(exchange(stream, staging(), begin, part));
      ZG_RETURN_IF_ERROR(
          launchFold(*self.module, stream, foldOf(staging(), begin, part)));
    }
    return absl::OkStatus();
  }

  /// Adds a chunk up while the next is exchanged into the other slot.
  absl::Status beside(CUstream stream) {
    unsigned slot = 0;
    for (uint64_t begin = 0; begin < part_bytes; begin += chunk) {
      uint64_t part = std::min(chunk, part_bytes - begin);
      CUdeviceptr place = staging() + slot * self.world * chunk;
      if (begin >= FoldStream::kSlots * chunk) {
        ZG_RETURN_IF_ERROR(self.folds->await(stream, slot));
      }
      ZG_RETURN_IF_ERROR(exchange(stream, place, begin, part));
      ZG_RETURN_IF_ERROR(self.folds->launch(*self.module, stream, slot,
                                            foldOf(place, begin, part)));
      slot = (slot + 1) % FoldStream::kSlots;
    }
    return absl::OkStatus();
  }

  GpuFold foldOf(CUdeviceptr place, uint64_t begin, uint64_t part) const {
    return {reduce.wire(),
            shard() + sumOffset(reduce, begin),
            place,
            chunk,
            self.world,
            part,
            reduce.accumulate()};
  }

  /// Bytes that slices of a plan begin at multiples of.
  static constexpr uint64_t kAlignment = 64;
  /// Bytes of a rank whose exchange takes longer than the calls for it.
  static constexpr uint64_t kLeastHalf = uint64_t(64) << 10;

  /// Exchanges a chunk; every rank begins with another peer. The own
  /// contribution goes through staging too: the shard may lie where it is.
  absl::Status exchange(CUstream stream, CUdeviceptr slot, uint64_t begin,
                        uint64_t size) {
    auto part = [&](unsigned rank) {
      return whole() + rank * part_bytes + begin;
    };
    auto place = [&](unsigned rank) { return slot + rank * chunk; };
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

  bool overlaps = false;
  uint64_t chunk = 0; // bytes that a rank gives another at once
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

} // namespace

absl::StatusOr<std::unique_ptr<NcclCollective>>
zerograph::bindNcclReduceScatter(NcclRank &rank,
                                 const plan::ReduceScatter &reduce,
                                 CollectiveSite site,
                                 const std::vector<DeviceRange> &ranges,
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
  ZG_RETURN_IF_ERROR(bound->open());
  return bound;
}
