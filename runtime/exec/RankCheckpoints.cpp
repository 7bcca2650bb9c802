//===- RankCheckpoints.cpp - when a rank writes checkpoints ---------------===//

#include "runtime/exec/RankCheckpoints.h"

#include "runtime/checkpoint/OwnedPieces.h"
#include "runtime/exec/ResumeRun.h"

#include <chrono>
#include <filesystem>

using namespace zerograph;

using Clock = std::chrono::steady_clock;

absl::Status RankCheckpoints::open(const RankMemory &memory, uint64_t steps) {
  if (!session.checkpoints) {
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(writer, CheckpointWriter::create(session.plan(), memory,
                                                       *session.checkpoints,
                                                       session.options.keep));
  // The folder may be that of the checkpoint that the run went on from, or one
  // that it has used before.
  std::error_code ignored;
  bool isThere =
      control.rank() == 0 &&
      std::filesystem::exists(session.checkpoints->published(steps), ignored);
  ZG_ASSIGN_OR_RETURN(
      std::string found,
      control.broadcast("looking for a checkpoint", isThere ? "there" : ""));
  newest = found.empty() ? std::nullopt : std::optional(steps);
  is_current = written != steps;
  return absl::OkStatus();
}

bool RankCheckpoints::isDue(uint64_t steps, bool last) const {
  return last || (session.options.every && steps % *session.options.every == 0);
}

/// Marks this rank busy: others may wait for it as long as the disk takes.
absl::Status
RankCheckpoints::whileBusy(absl::FunctionRef<absl::Status()> what) {
  control.setBusy(true);
  absl::Status status = what();
  control.setBusy(false);
  return status;
}

absl::Status RankCheckpoints::wait() {
  bool first = control.rank() == 0;
  absl::Status status = whileBusy([&] { return writer->wait(given_up); });
  if (status.ok() && first && saved) {
    checkpoint_times.last = session.checkpoints->published(*saved);
    checkpoint_times.wrote_ms.push_back(writer->lastMilliseconds());
  }
  saved.reset();
  return status;
}

absl::Status RankCheckpoints::afterStep(const Trainer &trainer, bool last) {
  if (!writer) {
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(writer->failure());
  TrainerPosition position = trainer.position();
  if (!isDue(position.steps, last)) {
    return absl::OkStatus();
  }
  bool first = control.rank() == 0;
  if (newest == position.steps) {
    if (first) {
      checkpoint_times.last = session.checkpoints->published(position.steps);
    }
    return absl::OkStatus();
  }
  Clock::time_point begin = Clock::now();
  if (first && !said_waiting && writer->isBusy()) {
    said_waiting = true;
    session.say(absl::StrCat(
        "a checkpoint is due after ", position.steps,
        " steps while the one "
        "after ",
        *saved,
        " is still being written: the run waits for it, now "
        "and whenever that happens again. A larger --every or a faster disk "
        "avoids it"));
  }
  ZG_RETURN_IF_ERROR(wait());
  CheckpointRun run = describeRun(session);
  run.steps = position.steps;
  run.updates = position.updates;
  run.loss_scale = position.loss_scale;
  ZG_RETURN_IF_ERROR(whileBusy([&] { return writer->save(run, given_up); }));
  saved = newest = position.steps;
  is_current = true;
  if (first) {
    checkpoint_times.stood_ms.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - begin)
            .count());
  }
  return absl::OkStatus();
}

absl::Status RankCheckpoints::finish(exec::RankReport &report) {
  if (!writer) {
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(publish());
  report.set_checkpoint_bytes(ownedBytes(session.plan(), control.rank()));
  report.set_checkpoint_copied(writer->copied());
  writer.reset();
  return absl::OkStatus();
}

absl::Status RankCheckpoints::publish() {
  ZG_RETURN_IF_ERROR(wait());
  // No rank goes on while others may still need it to.
  return control.barrier("writing the last checkpoint");
}
