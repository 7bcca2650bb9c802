//===- UniversalCheckpoint.h - a checkpoint in DeepSpeed's layout ---------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_UNIVERSALCHECKPOINT_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_UNIVERSALCHECKPOINT_H

#include "runtime/checkpoint/Index.h"
#include "runtime/io/torch/TorchFile.h"

#include <set>

namespace zerograph {

/// A checkpoint that DeepSpeed's ds_to_universal.py writes, or
/// `writeUniversal`.
class UniversalCheckpoint {
public:
  /// Returns whether a folder is one, or names one as its newest.
  static bool isAt(const std::string &path);
  /// Reads all but tensors.
  static absl::StatusOr<UniversalCheckpoint> open(const std::string &path);

  const std::string &path() const { return folder; }
  uint64_t steps() const { return steps_; }
  /// Returns the updates that the optimizer has made: fewer than steps where
  /// some were skipped.
  uint64_t updates() const { return updates_; }
  /// Returns the samples of a step, if that is known.
  std::optional<uint64_t> samplesOfStep() const { return samples; }
  /// Returns the loss scale of fp16, where it follows the overflows.
  const std::optional<SavedLossScale> &lossScale() const { return scale; }

  /// Parameters, and what there is of each: "fp32", "exp_avg", ...
  const std::map<std::string, std::set<std::string>> &parameters() const {
    return files;
  }
  /// Returns a tensor; of ZeRO 3 without its shape.
  absl::StatusOr<TensorExtent> tensor(const std::string &parameter,
                                      const std::string &file) const;

private:
  absl::Status listParameters();
  absl::Status readModelStates();
  absl::Status readOptimizerState();
  absl::Status readUpdates();
  std::string pathOf(const std::string &parameter,
                     const std::string &file) const;

  std::string folder;
  uint64_t steps_ = 0, updates_ = 0;
  std::optional<uint64_t> samples;
  std::optional<SavedLossScale> scale;
  std::map<std::string, std::set<std::string>> files;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_UNIVERSAL_UNIVERSALCHECKPOINT_H
