//===- SampleOrder.cpp - which samples a step takes -----------------------===//

#include "runtime/exec/SampleOrder.h"

#include "runtime/plan/Mesh.h"

#include <algorithm>

using namespace zerograph;

SampleOrder::SampleOrder(const DataSource &data, std::optional<uint64_t> seed)
    : samples(data.samples()), samples_of_step(data.samplesOfStep()),
      steps_of_epoch(data.steps()) {
  if (seed) {
    permutation.emplace(*seed, samples);
  }
}

uint64_t SampleOrder::sample(uint64_t step, uint64_t place) const {
  uint64_t in_epoch = step % steps_of_epoch * samples_of_step + place;
  return permutation ? permutation->at(step / steps_of_epoch, in_epoch)
                     : in_epoch;
}

absl::Status SampleOrder::check(const DataSource &data, uint64_t steps,
                                unsigned process, unsigned processes) const {
  // The epochs after a first one take what that left out, if they differ.
  bool all = permutation && steps > steps_of_epoch;
  uint64_t places =
      all ? samples : std::min(steps, steps_of_epoch) * samples_of_step;
  // The share is rounded up: the last may have less to do.
  uint64_t share = (places + processes - 1) / processes;
  return data.check(
      std::min(places, share * process),
      std::min(places, share * (process + 1)), [&](uint64_t place) {
        return permutation && !all ? permutation->at(0, place) : place;
      });
}

absl::Status FileBatch::read(uint64_t micro_batch, int input, void *to,
                             uint64_t bytes) const {
  uint64_t first = (micro_batch * worldOf(plan) + rank) * plan.micro_batch();
  return data.read(
      input, [&](uint64_t place) { return order.sample(step, first + place); },
      to);
}
