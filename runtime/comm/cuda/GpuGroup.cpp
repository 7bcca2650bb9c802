//===- GpuGroup.cpp - ranks that share a GPU ------------------------------===//

#include "runtime/comm/cuda/GpuGroup.h"

#include "runtime/comm/cuda/GpuCollective.h"

using namespace zerograph;

namespace {

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
  auto *cuda = dynamic_cast<const CudaModule *>(&module);
  if (!cuda) {
    return ranks;
  }
  auto group = std::make_shared<GpuGroup>(*cuda, controls.size());
  for (ControlPlane *control : controls) {
    ranks.push_back(std::make_unique<GpuCollectives>(group, *control));
  }
  return ranks;
}
