//===- Resume.h - states as a checkpoint has them -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_CHECKPOINT_RESUME_H
#define ZEROGRAPH_RUNTIME_CHECKPOINT_RESUME_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/state/Layout.h"

namespace zerograph {

/// A checkpoint that fits a plan: fills states on any number of ranks.
class Resume {
public:
  /// One error lists all that does not fit: tensors that are missing, that are
  /// too many, or that differ. `convert`: takes a checkpoint of another
  /// precision. Both outlive it.
  static absl::StatusOr<std::unique_ptr<Resume>>
  open(const plan::Plan &plan, const Checkpoint &checkpoint, bool convert);

  /// Fills this rank's part of every state: what is saved as it was,
  /// parameters rounded from masters, all else and padding with zeros.
  /// Thread-safe.
  absl::Status initialize(const RankMemory &memory) const;

  /// Return what the user should know, and what may be wrong.
  const std::vector<std::string> &notes() const { return said; }
  const std::vector<std::string> &warnings() const { return warned; }

private:
  Resume(const plan::Plan &plan, const Checkpoint &checkpoint)
      : plan(plan), checkpoint(checkpoint) {}
  const CheckpointTensor *find(const CheckpointTensor &wanted) const;
  absl::Status compare(bool convert);
  void compareSettings();
  absl::Status write(const ParameterPart &part, unsigned rank) const;

  const plan::Plan &plan;
  const Checkpoint &checkpoint;
  std::vector<std::string> said, warned;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_CHECKPOINT_RESUME_H
