//===- Summary.cpp - a prediction in a few numbers ------------------------===//

#include "simulate/Summary.h"

#include "runtime/plan/Cost.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>

namespace zerograph::simulate {
namespace {

/// Samples of one training step, of all ranks.
double samplesOf(const plan::Plan &plan) {
  return double(plan.micro_batch()) * std::max(1u, plan.accumulate()) *
         worldOf(plan);
}

/// Returns the tokens of a sample: the second dimension of the first input of
/// integers that has two; 0 if there is none.
double tokensOf(const plan::Plan &plan) {
  for (const plan::Input &input : plan.inputs()) {
    if (input.per_sample() && input.shape_size() == 2 &&
        (input.type() == plan::I64 || input.type() == plan::I32)) {
      return double(input.shape(1));
    }
  }
  return 0;
}

/// Returns the type of what the plan multiplies most.
plan::ElementType mostMultiplied(const Cost &cost) {
  plan::ElementType most = plan::F32;
  uint64_t adds = 0;
  for (const auto &[type, counts] : cost.operations) {
    if (counts.multiplyAdds.saturated() > adds) {
      adds = counts.multiplyAdds.saturated();
      most = type;
    }
  }
  return most;
}

} // namespace

uint64_t usableBytes(const Machine &machine, uint32_t ranks) {
  double kept = 0; // by what else a process needs
  if (machine.card) {
    kept = double(machine.card->total_mib << 20) -
           double(options::usableBytes(*machine.card, ranks));
  }
  return uint64_t(std::max(0.0, machine.memory * 1e9 - kept));
}

Summary summarize(const plan::Plan &plan, const Machine &machine,
                  const Cluster &cluster, double seconds) {
  Cost cost = costOf(plan);
  plan::ElementType type = mostMultiplied(cost);
  double operations = 2 * double(cost.computed().multiplyAdds.saturated());
  bool tf32 = type == plan::F32 && plan.devices(0).allow_tf32();
  Summary summary;
  summary.machine = machine.name;
  summary.cluster = cluster;
  double rate = seconds > 0 ? 1 / seconds : 0; // of a plan without steps
  summary.samples_per_second = samplesOf(plan) * rate;
  summary.tokens_per_second = summary.samples_per_second * tokensOf(plan);
  summary.ranks_per_device =
      machine.device == "host" ? cluster.ranks_per_node : 1;
  summary.most_multiplied = type;
  summary.peak_type = tf32 ? "tf32" : nameOf(type);
  summary.computes_again = plan.recomputed() > 0;
  summary.peak_share = operations * rate * summary.ranks_per_device /
                       productPeak(type, plan, machine);
  summary.device_bytes =
      (Checked(arenaBytes(plan, plan::DEVICE)) * summary.ranks_per_device)
          .saturated();
  summary.usable_bytes = usableBytes(machine, cluster.ranks());
  return summary;
}

} // namespace zerograph::simulate
