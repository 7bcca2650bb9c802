//===- DataSource.h - the samples of a run --------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_DATASOURCE_H
#define ZEROGRAPH_RUNTIME_IO_DATASOURCE_H

#include "runtime/io/TensorFile.h"

#include <optional>

namespace zerograph {

/// Arrays for the inputs of a plan. A per-sample input's first dimension is
/// samples (or, where the model wants it flattened, rows of samples), as many
/// samples for each of them; another input is given whole.
class DataSource {
public:
  /// Opens `path` and checks every input's array: presence, type and shape.
  /// One error lists all problems.
  static absl::StatusOr<std::unique_ptr<DataSource>>
  open(const std::string &path, const plan::Plan &plan);

  /// Samples that whole steps use: a multiple of `samplesOfStep`.
  uint64_t samples() const { return usable; }
  /// Samples behind them, that no whole step uses.
  uint64_t dropped() const { return total - usable; }
  /// ranks * accumulation * micro-batch.
  uint64_t samplesOfStep() const { return step; }
  /// Names of arrays that are no input.
  const std::vector<std::string> &superfluous() const { return extra; }

  /// Reads input number `input` of the plan for the micro-batch that begins at
  /// sample `first`, all of which the data has. Integers are checked against
  /// the input's limits. Thread-safe.
  absl::Status read(int input, uint64_t first, void *data) const;

  /// Checks the integers of samples [begin, end) against the inputs' limits.
  absl::Status check(uint64_t begin, uint64_t end) const;

private:
  DataSource() = default;
  /// `seen`: samples of the inputs before, if any had them; and of this one.
  absl::Status checkInput(const TensorFile &tensors, const plan::Input &input,
                          std::optional<uint64_t> &seen);
  /// `count` samples from `first` on; of an input without samples, all of it.
  absl::Status readSamples(int input, uint64_t first, uint64_t count,
                           void *data) const;
  absl::Status checkValues(int input, uint64_t first, uint64_t count,
                           const void *data) const;
  uint64_t bytesOf(int input, uint64_t samples) const;

  std::string path;
  std::vector<plan::Input> inputs;
  std::vector<TensorExtent> arrays; // one an input
  std::vector<std::string> extra;
  uint64_t micro_batch = 0;
  uint64_t step = 0;
  uint64_t total = 0;
  uint64_t usable = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_DATASOURCE_H
