//===- DataSource.h - the samples of a run --------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_DATASOURCE_H
#define ZEROGRAPH_RUNTIME_IO_DATASOURCE_H

#include "runtime/io/Shard.h"

#include "absl/functional/function_ref.h"

#include <mutex>

namespace zerograph {

/// Says whether data are trained on, in whole steps, or evaluated, in
/// micro-batches, of which the last may be incomplete.
enum class Purpose { Training, Evaluation };

/// Arrays for the inputs of a plan, in one file or several: samples are counted
/// through all of them. A per-sample input's first dimension is samples (or,
/// where the model wants it flattened, rows of samples), as many samples for
/// each of them; another input is given whole, the same in every file.
class DataSource {
public:
  /// The sample that stands at a place of some order.
  using Order = absl::FunctionRef<uint64_t(uint64_t place)>;

  /// Opens what `paths` stand for (`shardFiles`) and checks every input's
  /// array: presence, type and shape. One error lists all problems of a file.
  /// There must be samples for a step, or one to evaluate.
  static absl::StatusOr<std::unique_ptr<DataSource>>
  open(const std::vector<std::string> &paths, const plan::Plan &plan,
       Purpose purpose = Purpose::Training);

  /// Does the same with arrays that are open, which errors call `name`.
  static absl::StatusOr<std::unique_ptr<DataSource>>
  of(const std::string &name, const TensorFile &arrays, const plan::Plan &plan,
     Purpose purpose = Purpose::Training);

  /// Returns what to call the data in a message.
  const std::string &name() const { return name_; }
  /// Returns whether an input has samples; without, one is as good as another.
  bool perSample() const { return shards.front().samples > 0; }
  /// Samples of all files.
  uint64_t samples() const { return total; }
  /// ranks * accumulation * micro-batch, and how many such steps there are. Of
  /// an evaluation: a micro-batch.
  uint64_t samplesOfStep() const { return step; }
  uint64_t steps() const { return total / step; }
  /// Samples that fill no step.
  uint64_t rest() const { return total % step; }
  /// Names of arrays that are no input.
  const std::vector<std::string> &superfluous() const { return extra; }

  /// Reads input number `input` of the plan for a micro-batch: the samples at
  /// the places from 0 on. Integers are checked against the input's limits.
  /// Thread-safe.
  absl::Status read(int input, Order order, void *data) const;
  /// The same of the micro-batch that begins at sample `first`.
  absl::Status read(int input, uint64_t first, void *data) const;

  /// Returns where a micro-batch of an input lies, all of it in one piece, from
  /// sample `first` on; null where that is not in memory. Nothing is checked.
  const std::byte *find(int input, uint64_t first) const;

  /// Checks the integers of the samples at the places [begin, end) against the
  /// inputs' limits.
  absl::Status check(uint64_t begin, uint64_t end, Order order) const;

  /// Says where an index below 0 was first read: legal, and counted from the
  /// end. Empty: none was. Thread-safe.
  std::string countedFromEnd() const;

private:
  DataSource(std::string name, const plan::Plan &plan, Purpose purpose);
  absl::Status add(Shard shard);
  /// Counts what was added, and checks that it is enough.
  absl::Status finish(const plan::Plan &plan, Purpose purpose);
  /// The samples at the places [begin, end).
  absl::Status readPlaces(int input, uint64_t begin, uint64_t end, Order order,
                          std::byte *data) const;
  /// Reads those of `count` samples from `first` on that its file has; returns
  /// how many.
  absl::StatusOr<uint64_t> readRun(int input, uint64_t first, uint64_t count,
                                   std::byte *data) const;
  absl::Status checkValues(const Shard &shard, int input, uint64_t first,
                           uint64_t count, const void *data) const;
  /// Returns the bytes of one sample; of an input without samples, all.
  uint64_t bytesOf(int input) const { return bytes[size_t(input)]; }

  std::string name_;
  std::vector<plan::Input> inputs;
  std::vector<uint64_t> bytes; // see bytesOf
  std::vector<Shard> shards;
  std::vector<uint64_t> ends; // of each shard, in samples
  std::vector<std::string> extra;
  uint64_t micro_batch = 0;
  uint64_t step = 0;
  uint64_t total = 0;
  mutable std::mutex mutex;
  mutable std::string from_end;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_DATASOURCE_H
