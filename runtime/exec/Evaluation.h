//===- Evaluation.h - the loss of samples that are not trained on ---------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_EVALUATION_H
#define ZEROGRAPH_RUNTIME_EXEC_EVALUATION_H

#include "runtime/exec/Trainer.h"
#include "runtime/io/DataSource.h"

#include <vector>

namespace zerograph {

/// The samples for which one run of the program that evaluates computes the
/// loss on one rank: `samples` samples from `first` on, over and over until the
/// micro-batch is full.
struct EvaluatedBlock {
  uint64_t first = 0, samples = 0;

  bool operator==(const EvaluatedBlock &) const = default;
};

/// The samples of an evaluation as blocks: whole micro-batches, then what is
/// left over, in parts that divide the micro-batch, the largest that fits
/// first. A part is filled up with copies of itself: the mean over it stays
/// what it is.
class EvaluatedBlocks {
public:
  EvaluatedBlocks(uint64_t samples, uint64_t micro_batch);

  uint64_t size() const { return whole + parts.size(); }
  EvaluatedBlock operator[](uint64_t number) const;
  /// Returns the factor by which the block's loss counts: 1 for a whole
  /// micro-batch.
  double weight(uint64_t number) const;

private:
  uint64_t micro_batch, whole;
  std::vector<EvaluatedBlock> parts;
};

/// Data to evaluate on, and how ranks divide them: block k * ranks + r is
/// micro-batch k of rank r. So the loss is the same for any number of ranks.
class Evaluation {
public:
  /// Opens the data. The plan outlives the evaluation.
  static absl::StatusOr<std::unique_ptr<Evaluation>>
  open(const std::vector<std::string> &paths, const plan::Plan &plan);

  /// Takes data that is open, for evaluation. Both outlive the evaluation.
  Evaluation(const plan::Plan &plan, std::unique_ptr<DataSource> source);

  const DataSource &data() const { return *source; }
  /// Returns the micro-batches of each rank.
  uint64_t rounds() const;
  /// Checks the labels of one process's part of the samples.
  absl::Status check(unsigned process, unsigned processes) const;
  /// Returns the sum of the losses and, always, what it is to be divided by:
  /// micro-batches, each by its samples; or, where the plan has a count of
  /// losses, all that is counted. Every rank calls this, between steps.
  absl::StatusOr<EvaluatedSum> run(Trainer &trainer, unsigned rank) const;

private:
  const plan::Plan &plan;
  std::unique_ptr<DataSource> source;
  EvaluatedBlocks blocks;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_EVALUATION_H
