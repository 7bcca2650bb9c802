//===- SampleOrder.h - which samples a step takes -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_SAMPLEORDER_H
#define ZEROGRAPH_RUNTIME_EXEC_SAMPLEORDER_H

#include "runtime/exec/Batch.h"
#include "runtime/io/DataSource.h"
#include "runtime/state/Permutation.h"

#include <optional>

namespace zerograph {

/// The samples of the data that each step takes. An epoch is as many steps as
/// the data fills; what is left over is not in it. Each epoch has an order of
/// its own, or all have that of the data. Nothing is kept from step to step.
class SampleOrder {
public:
  /// `seed` is that of the orders; none: they are that of the data.
  SampleOrder(const DataSource &data, std::optional<uint64_t> seed);

  /// Returns the sample at a place of a step, which has places for all ranks.
  uint64_t sample(uint64_t step, uint64_t place) const;

  /// Checks the samples that the steps before `steps` take, so that a wrong
  /// label is found before the first step, not after hours. Of several
  /// processes each looks at its part.
  absl::Status check(const DataSource &data, uint64_t steps, unsigned process,
                     unsigned processes) const;

private:
  uint64_t samples, samples_of_step, steps_of_epoch;
  std::optional<Permutation> permutation;
};

/// A rank's part of a step's samples, from the files of the run. All outlive
/// it.
class FileBatch final : public Batch {
public:
  FileBatch(const plan::Plan &plan, const DataSource &data,
            const SampleOrder &order, unsigned rank, uint64_t step)
      : plan(plan), data(data), order(order), rank(rank), step(step) {}

  absl::Status read(uint64_t micro_batch, int input, void *to,
                    uint64_t bytes) const override;

private:
  const plan::Plan &plan;
  const DataSource &data;
  const SampleOrder &order;
  unsigned rank;
  uint64_t step;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_SAMPLEORDER_H
