//===- ResumeRun.cpp - a run that goes on from another --------------------===//

#include "runtime/exec/ResumeRun.h"

#include "runtime/checkpoint/OwnedPieces.h"
#include "runtime/checkpoint/RunOfPlan.h"
#include "runtime/plan/Mesh.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"

#include <filesystem>

using namespace zerograph;

namespace {

constexpr char kLatest[] = "latest";

/// Returns the folder of the checkpoint that is meant; empty: none, begin anew.
absl::StatusOr<std::string> resolve(const Session &session) {
  const TrainOptions &options = session.options;
  bool latest = options.resume == kLatest;
  const std::string &folder = latest ? options.checkpoint : options.resume;
  if (!latest && isCheckpoint(folder)) {
    return folder;
  }
  std::error_code ignored; // what cannot be looked at cannot be listed either
  std::vector<PublishedCheckpoint> published;
  if (!latest || std::filesystem::exists(folder, ignored)) {
    ZG_ASSIGN_OR_RETURN(published, publishedIn(folder));
  }
  if (absl::Status status = checkNotDeepSpeeds(folder, published);
      !latest && !status.ok()) {
    return annotate(status, "--resume");
  }
  if (!published.empty()) {
    return published.back().path;
  }
  if (latest) {
    session.say(absl::StrCat("--resume latest: there is no checkpoint in ",
                             folder, ": the run begins with its first step"));
    return "";
  }
  return absl::NotFoundError(
      absl::StrCat("--resume ", folder, ": there is no checkpoint in it"));
}

absl::Status adoptSeeds(Session &session) {
  TrainOptions &options = session.options;
  const CheckpointRun &run = session.resumed->index().run;
  if (options.seed_given && options.seed != run.seed) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--seed ", options.seed, ": the run of ", session.resumed->path(),
        " has the seed ", run.seed, ", and goes on with it: leave --seed out"));
  }
  options.seed = run.seed;
  if (options.shuffle && options.shuffle != run.shuffle) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--shuffle ", *options.shuffle, ": the run of ",
        session.resumed->path(), " takes samples ",
        run.shuffle ? absl::StrCat("in the order of --shuffle ", *run.shuffle)
                    : "in the order of the files",
        ", and goes on so: leave --shuffle out"));
  }
  options.shuffle = run.shuffle;
  return absl::OkStatus();
}

} // namespace

absl::Status zerograph::openResumed(Session &session) {
  const TrainOptions &options = session.options;
  if (options.resume.empty()) {
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(std::string path, resolve(session));
  if (path.empty()) {
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<Checkpoint>> opened = Checkpoint::open(path);
  if (!opened.ok()) {
    return absl::Status(
        opened.status().code(),
        absl::StrCat(
            opened.status().message(),
            "\n  the run cannot go on from it. 'zerograph checkpoint list' "
            "lists those of a folder, and --resume takes each"));
  }
  session.resumed = std::move(*opened);
  ZG_RETURN_IF_ERROR(adoptSeeds(session));
  ZG_ASSIGN_OR_RETURN(session.resume,
                      Resume::open(session.plan(), *session.resumed,
                                   options.convert_precision));
  session.say(absl::StrCat("the run goes on from ", path, ", after ",
                           session.firstStep(), " steps"));
  for (const std::string &warning : session.resume->warnings()) {
    session.warn(warning);
  }
  for (const std::string &note : session.resume->notes()) {
    session.say(note);
  }
  uint64_t graph = session.resumed->index().run.graph;
  uint64_t own = session.plan().graph_hash();
  if (graph != 0 && own != 0 && graph != own) {
    session.warn(absl::StrCat(
        path, " was made with another graph than that of ",
        session.plan().model(), ": from here on the run computes this one"));
  }
  for (const auto &[name, given] :
       {std::pair("--load-weights", !options.load_weights.empty()),
        std::pair("--init-missing", options.init_missing.has_value())}) {
    if (given) {
      session.say(absl::StrCat(
          name, " has no effect: the checkpoint has all parameters"));
    }
  }
  return absl::OkStatus();
}

absl::Status zerograph::checkResumedData(const Session &session) {
  if (!session.resumed) {
    return absl::OkStatus();
  }
  const CheckpointRun &run = session.resumed->index().run;
  const std::string &path = session.resumed->path();
  uint64_t samples_per_step = samplesOfStep(session.plan());
  if (run.samples_per_step != samples_per_step) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a step takes ", samples_per_step, " samples, and took ",
        run.samples_per_step, " in the run of ", path,
        ": steps, epochs and the schedule count steps of that size. Choose "
        "ranks, --micro-batch and --accumulate so that their product is ",
        run.samples_per_step));
  }
  if (run.micro_batch != session.plan().micro_batch()) {
    session.say(absl::StrCat(
        "micro-batches have ", session.plan().micro_batch(),
        " samples, and had ", run.micro_batch, " when ", path,
        " was made: the run goes on with other bits",
        absl::c_any_of(session.plan().units(),
                       [](const plan::Unit &unit) { return unit.local(); })
            ? ", and BatchNorm normalizes by other samples"
            : ""));
  }
  if (session.steps < run.steps) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the run of ", path, " has made ", run.steps, " steps, and ",
        session.steps,
        " are wanted in all: --steps and --epochs count those before "
        "too"));
  }
  if (session.steps == run.steps) {
    session.say(absl::StrCat("all ", run.steps,
                             " steps have been made already: none is left"));
  }
  if (session.data && run.samples != 0 && run.samples != session.samples()) {
    session.say(absl::StrCat(
        session.data->name(), " has ", session.samples(), " samples, and had ",
        run.samples, " when ", path,
        " was made: from here on samples are taken as if it had always had "
        "these"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CheckpointFolder>>
zerograph::openCheckpoints(const Session &session, const std::string &folder,
                           uint64_t steps) {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointFolder> opened,
                      CheckpointFolder::open(folder));
  ZG_ASSIGN_OR_RETURN(std::vector<PublishedCheckpoint> published,
                      publishedIn(folder));
  std::vector<std::string> later;
  for (const PublishedCheckpoint &one : published) {
    if (one.steps > steps) {
      later.push_back(one.path);
    }
  }
  if (later.empty()) {
    return opened;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "--checkpoint ", folder, " holds checkpoints of ",
      session.resumed ? "later steps" : "an earlier run", ": ",
      later.size() > 2 ? absl::StrCat(later.front(), " to ", later.back())
                       : absl::StrJoin(later, ", "),
      ". Go on from the last one with --resume latest, or choose another "
      "folder, or move them away"));
}

absl::Status zerograph::joinCheckpoints(Session &session,
                                        ControlPlane &control) {
  if (session.options.checkpoint.empty()) {
    return absl::OkStatus();
  }
  constexpr char kWhat[] = "opening the folder of checkpoints";
  ZG_ASSIGN_OR_RETURN(
      std::string token,
      control.broadcast(kWhat,
                        session.first() ? session.checkpoints->token() : ""));
  absl::Status status;
  if (!session.first()) {
    auto joined = CheckpointFolder::join(session.options.checkpoint, token);
    status = joined.status();
    if (joined.ok()) {
      session.checkpoints = std::move(*joined);
    }
  }
  return agree(control, kWhat, status);
}

uint64_t zerograph::checkpointCopy(const Session &session, unsigned rank) {
  return session.options.checkpoint.empty()
             ? 0
             : checkpointMemory(session.plan(), rank);
}

CheckpointRun zerograph::describeRun(const Session &session) {
  CheckpointRun run = runOf(*session.loaded);
  run.seed = session.options.seed;
  run.shuffle = session.options.shuffle;
  run.samples = session.samples();
  return run;
}
