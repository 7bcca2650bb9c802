//===- Index.h - what a checkpoint holds, and where -----------------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_INDEX_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_INDEX_H

#include "runtime/base/Status.h"
#include "runtime/io/TensorFile.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// The format that this build writes, and the only one that it reads.
inline constexpr uint64_t kIndexVersion = 1;
/// The bytes of a piece that one checksum is of: who needs a few elements of a
/// large tensor reads at most this much beside them.
inline constexpr uint64_t kChecksumBytes = 4 << 20;

/// The state of fp16's dynamic loss scale, in the words of DeepSpeed's.
struct SavedLossScale {
  double scale = 1;
  int64_t steps = 0;
  int64_t last_overflow = -1;
  uint32_t hysteresis = 1;

  bool operator==(const SavedLossScale &) const = default;
};

/// Tells how far a run is, and what it goes on with.
struct CheckpointRun {
  uint64_t steps = 0;   // made
  uint64_t updates = 0; // made: fewer where steps were skipped
  std::optional<SavedLossScale> loss_scale;
  /// Random numbers follow from it and the step.
  uint64_t seed = 0;
  /// The samples that a step takes follow from its number and these.
  std::optional<uint64_t> shuffle;
  uint64_t samples = 0, samples_per_step = 0; // samples 0: not known
  uint64_t micro_batch = 0; // samples of a rank's, on which bits depend
  std::string optimizer;    // kind, "adamw"
  /// The settings that a run may change on purpose (Resume.h), as JSON; for
  /// comparing.
  std::string settings = "{}";
  /// The metadata that a file of the weights has of adapters among them
  /// (Adapters.h).
  Metadata adapters;
  uint32_t ranks = 1;
  /// For people: when, of which model, by which plan and program.
  std::string time, model, plan, producer;
  /// The hash of the model's graph (plan.proto); 0: not known.
  uint64_t graph = 0;

  bool operator==(const CheckpointRun &) const = default;
};

/// Elements [first, first + elements) of a tensor.
struct CheckpointPiece {
  uint32_t file = 0;     // of CheckpointIndex::files
  uint64_t offset = 0;   // of the first one's first byte, in the file
  uint64_t first = 0;    // in the tensor
  uint64_t elements = 0; // at least 1
  /// XXH3 (64 bits) of each kChecksumBytes of it, or of what is left.
  std::vector<uint64_t> checksums;

  bool operator==(const CheckpointPiece &) const = default;
};

/// A parameter, or what the optimizer keeps of it.
struct CheckpointTensor {
  std::string name; // of the parameter
  std::string role; // "param", "master", or a state's, as "exp_avg"
  plan::ElementType type = plan::F32;
  /// The type that the run computed with: smaller than `type`, if that is a
  /// master's.
  plan::ElementType computed = plan::F32;
  std::vector<uint64_t> shape;
  /// The rank that has it, where each has its own, as running statistics.
  std::optional<uint32_t> rank;
  std::vector<CheckpointPiece> pieces; // ascending; each element once

  bool isValues() const { return role == "param" || role == "master"; }
  /// Returns whether it is what files of weights have: of what each rank has
  /// its own, rank 0's.
  bool isWeight() const { return isValues() && rank.value_or(0) == 0; }
  /// Returns the name of its own: "fc1.weight" of values, "fc1.weight.exp_avg"
  /// of a state.
  std::string key() const;
  /// "'fc1.weight' (exp_avg)".
  std::string text() const;
  bool operator==(const CheckpointTensor &) const = default;
};

/// A rank's file: a header, then pieces without a gap.
struct CheckpointFile {
  std::string name; // "rank-00003.safetensors"
  uint64_t bytes = 0;
  uint64_t header_bytes = 0;
  uint64_t header_checksum = 0;

  bool operator==(const CheckpointFile &) const = default;
};

struct CheckpointIndex {
  CheckpointRun run;
  std::vector<CheckpointFile> files;
  /// By name, values before states, these by role, then by rank.
  std::vector<CheckpointTensor> tensors;

  bool operator==(const CheckpointIndex &) const = default;
};

/// The key of a piece in its file: "fc1.weight[0:256]" of values,
/// "fc1.weight.exp_avg[0:256]" of a state, "bn.running_mean@3[0:16]" of rank
/// 3's own.
std::string pieceKey(const CheckpointTensor &tensor, uint64_t first,
                     uint64_t elements);

/// Around the checksum, at the end of an index's text.
inline constexpr absl::string_view kChecksumBegin = ",\n\"xxh3\": \"";
inline constexpr absl::string_view kChecksumEnd = "\"\n}\n";
/// Returns 16 lower-case digits.
std::string hexOf(uint64_t checksum);

/// Returns the XXH3 (64 bits).
uint64_t checksumOf(const void *data, uint64_t bytes);
/// Returns the checksums of `data` as pieces have them.
std::vector<uint64_t> checksumsOf(const std::byte *data, uint64_t bytes);

/// Returns the text of a file, whose last line is the checksum of all before
/// it.
std::string textOf(const CheckpointIndex &index);

/// Returns a run with the fields that `text` gives, an object of JSON: any of
/// "steps", "updates" (if missing, as many as steps), "seed", "shuffle",
/// "samples_per_step" and "loss_scale", as an index has them.
absl::StatusOr<CheckpointRun> withFields(const CheckpointRun &run,
                                         const std::string &text);

/// Parses the text of `path`, which errors name. Every index, size and range is
/// in bounds and every name a name of ours; but a rank's part has only its
/// pieces.
absl::StatusOr<CheckpointIndex> parseIndexPart(const std::string &path,
                                               const std::string &text);
/// Parses a whole index: besides, the pieces of each tensor cover it, and the
/// pieces in each file cover that.
absl::StatusOr<CheckpointIndex> parseIndex(const std::string &path,
                                           const std::string &text);

/// Checks that an index is whole, as `parseIndex` says; errors name `path`.
absl::Status checkWhole(const std::string &path, const CheckpointIndex &index);

/// Returns one index of the parts of all ranks, in the order of ranks.
absl::StatusOr<CheckpointIndex>
mergeIndex(const std::string &path, const std::vector<CheckpointIndex> &parts);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_INDEX_H
