//===- ResumeRun.h - a run that goes on from another ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RESUMERUN_H
#define ZEROGRAPH_RUNTIME_EXEC_RESUMERUN_H

#include "runtime/exec/Session.h"

namespace zerograph {

/// Opens the checkpoint that `--resume` means, if there is one, and takes seeds
/// from it. It is an error where it does not fit the plan, or options say
/// otherwise.
absl::Status openResumed(Session &session);

/// Checks that the data is that of the checkpoint, once it is open and the
/// steps are known.
absl::Status checkResumedData(const Session &session);

/// Opens a folder to write to, in the process that publishes, when all else is
/// known to be right. It is an error if it holds checkpoints of more steps than
/// `steps`, which are still to be made.
absl::StatusOr<std::unique_ptr<CheckpointFolder>>
openCheckpoints(const Session &session, const std::string &folder,
                uint64_t steps);

/// Joins the folder that process 0 has opened, if checkpoints are to be
/// written. All ranks call it; an error is one that `agree` gives.
absl::Status joinCheckpoints(Session &session, ControlPlane &control);

/// Returns the bytes of a rank's memory from which checkpoints are written.
uint64_t checkpointCopy(const Session &session, unsigned rank);

/// Returns what the checkpoints of the run have in common.
CheckpointRun describeRun(const Session &session);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RESUMERUN_H
