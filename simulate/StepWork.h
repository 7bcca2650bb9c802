//===- StepWork.h - how long a step takes alone, and what it keeps busy ---===//

#ifndef ZEROGRAPH_SIMULATE_STEPWORK_H
#define ZEROGRAPH_SIMULATE_STEPWORK_H

#include "runtime/plan/plan.pb.h"
#include "simulate/Machine.h"

#include <array>

namespace zerograph::simulate {

/// Names what steps that run side by side share, on one rank.
enum class Resource {
  Compute,     // multiprocessors, or the cores of a rank on the host
  Memory,      // of the device
  HostCompute, // the rank's part of its host's cores
  HostMemory,
  ToDevice, // the link from the host
  FromDevice,
  Link, // to the devices of the node
  Network,
  DiskRead,
  DiskWrite,
};
inline constexpr size_t kResources = size_t(Resource::DiskWrite) + 1;

/// Says where the ranks of a plan are.
struct Cluster {
  uint32_t nodes = 1;
  uint32_t ranks_per_node = 1;

  uint32_t ranks() const { return nodes * ranks_per_node; }
};

/// A step that nothing runs beside.
struct Work {
  double seconds = 0;
  /// Seconds for which each resource is wholly busy: at most `seconds`.
  std::array<double, kResources> busy = {};

  double &of(Resource resource) { return busy[size_t(resource)]; }
  double of(Resource resource) const { return busy[size_t(resource)]; }
  /// Returns the resource that is busiest; the first of several.
  Resource bound() const;
  /// Lasts as long as the busiest resource, and so much longer.
  void last(double longer);
};

/// Returns the operations a second of a library's products of this type, in a
/// plan that may allow TF32.
double productPeak(plan::ElementType type, const plan::Plan &plan,
                   const Machine &machine);

/// Returns the work of one run of a step of a valid plan, which states costs,
/// on a rank of the cluster. All ranks have the same.
Work workOf(const plan::Plan &plan, const plan::Step &step,
            const Machine &machine, const Cluster &cluster);

} // namespace zerograph::simulate

#endif // ZEROGRAPH_SIMULATE_STEPWORK_H
