//===- NcclCollectives.cpp - ranks with a GPU each ------------------------===//

#include "runtime/comm/nccl/NcclCollectives.h"

#include "runtime/comm/nccl/NcclCollective.h"
#include "runtime/device/cuda/CudaBuffer.h"

#include <algorithm>

using namespace zerograph;

namespace {

class NcclCollectives final : public Collectives {
public:
  NcclCollectives(const NcclApi &api, const CudaModule &module,
                  ControlPlane &control, NcclOptions options)
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
  const NcclOptions options;
  NcclRank self;
  std::unique_ptr<NcclComm> comm; // once it is open
  std::vector<const Buffer *> known;
};

} // namespace

absl::StatusOr<std::unique_ptr<Collectives>>
zerograph::makeNcclCollectives(const Module &module, ControlPlane &control,
                               const NcclOptions &options) {
  auto *cuda = dynamic_cast<const CudaModule *>(&module);
  if (!cuda) {
    return absl::InvalidArgumentError(
        "NCCL exchanges what lies on GPUs, and the plan is for another device");
  }
  ZG_ASSIGN_OR_RETURN(const NcclApi *api, ncclApi());
  return std::make_unique<NcclCollectives>(*api, *cuda, control, options);
}
