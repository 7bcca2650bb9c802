//===- NoCollectives.h - the data plane of processes that have none -------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_NOCOLLECTIVES_H
#define ZEROGRAPH_RUNTIME_COMM_NOCOLLECTIVES_H

#include "runtime/comm/Collectives.h"
#include "runtime/comm/ControlPlane.h"

namespace zerograph {

/// Stands beside a control plane alone, where ranks exchange by what their
/// devices have or not at all: it binds no collective.
class NoCollectives final : public Collectives {
public:
  /// The control plane outlives it.
  explicit NoCollectives(ControlPlane &control) : control(control) {}

  unsigned world() const override { return control.world(); }
  unsigned rank() const override { return control.rank(); }
  absl::StatusOr<std::unique_ptr<Operation>>
  bind(const plan::Step &step, CollectiveSite site,
       absl::Span<const unsigned> group,
       std::vector<DeviceRange> ranges) override {
    return absl::FailedPreconditionError(absl::StrCat(
        describe(site, "the collective"),
        ": these processes have no MPI to exchange the host's memory by"));
  }
  void abort(const absl::Status &status) override { control.abort(status); }
  TrafficCount traffic() const override { return {}; }

private:
  ControlPlane &control;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_NOCOLLECTIVES_H
