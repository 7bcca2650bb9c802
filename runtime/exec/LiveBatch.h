//===- LiveBatch.h - batches that a live run is given ---------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_LIVEBATCH_H
#define ZEROGRAPH_RUNTIME_EXEC_LIVEBATCH_H

#include "runtime/exec/Batch.h"
#include "runtime/io/DataSource.h"
#include "runtime/plan/Mesh.h"

#include <memory>
#include <vector>

namespace zerograph {

/// A rank's part of samples in memory, which are those of `of` ranks.
class LiveBatch final : public Batch {
public:
  LiveBatch(const DataSource &data, uint64_t micro_batch, uint64_t of,
            uint64_t number)
      : data(data), samples(micro_batch), of(of), number(number) {}

  absl::Status read(uint64_t micro_batch, int input, void *to,
                    uint64_t) const override {
    return data.read(input, first(micro_batch), to);
  }
  const std::byte *find(uint64_t micro_batch, int input,
                        uint64_t) const override {
    return data.find(input, first(micro_batch));
  }

private:
  uint64_t first(uint64_t micro_batch) const {
    return (micro_batch * of + number) * samples;
  }

  const DataSource &data;
  uint64_t samples, of, number;
};

/// The arrays of a caller as the batch of one of a run's plans.
class GivenBatch {
public:
  /// Returns the arrays as a batch of the first plan that they fit. Those of a
  /// `step` are as many samples as it takes, or the part of one of `processes`;
  /// they must not be a whole step of one plan and a part of another's.
  static absl::StatusOr<GivenBatch>
  of(const TensorFile &arrays, const std::vector<const plan::Plan *> &plans,
     unsigned processes, bool step);

  const DataSource &data() const { return *batch; }
  const plan::Plan &plan() const { return *of_plan; }
  /// Returns the place of the plan among the run's.
  size_t number() const { return place; }
  /// Returns whether it is a step's, and not the part of this process.
  bool isWhole() const {
    return !batch->perSample() || batch->samples() == samplesOfStep(plan());
  }
  /// Gives the data away.
  std::unique_ptr<DataSource> take() { return std::move(batch); }

private:
  std::unique_ptr<DataSource> batch;
  const plan::Plan *of_plan = nullptr;
  size_t place = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_LIVEBATCH_H
