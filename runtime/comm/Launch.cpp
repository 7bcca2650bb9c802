//===- Launch.cpp - who started this process ------------------------------===//

#include "runtime/comm/Launch.h"

#include "absl/strings/numbers.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// Reads variables. One that is set and makes no sense is an error.
class LaunchVariables {
public:
  explicit LaunchVariables(const Variables &get) : get(get) {}

  bool has(const char *name) const { return !text(name).empty(); }

  /// Returns the text; nothing for one that is not set, as for an empty one.
  std::string text(const char *name) const {
    const char *value = get(name);
    return value ? value : "";
  }

  absl::StatusOr<std::optional<unsigned>>
  number(const char *name, unsigned least = 0,
         unsigned most = kMostRanks) const {
    std::string value = text(name);
    if (value.empty()) {
      return std::nullopt;
    }
    uint64_t result = 0;
    if (!absl::SimpleAtoi(value, &result) || result < least || result > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("the variable ", name, " is '", value,
                       "', expected a number from ", least, " to ", most));
    }
    return unsigned(result);
  }

private:
  static constexpr unsigned kMostRanks = 1 << 20;

  const Variables &get;
};

constexpr unsigned kLastPort = 65535;
/// The ports to meet at. They lie below those that systems give away. Jobs of
/// one node should not meet, whose numbers, or MASTER_PORT, are often one more
/// than another's: what one tries second lies far from what the others try
/// first.
constexpr unsigned kFirstPort = 15000, kPorts = 10000, kTries = 4,
                   kApart = 2503;

using MaybeLaunch = absl::StatusOr<std::optional<Launch>>;

absl::Status checkRank(const char *rank_name, unsigned rank,
                       const char *world_name, unsigned world) {
  if (rank < world) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the variable ", rank_name, " is ", rank, " where ", world_name, " is ",
      world, ": ranks count from 0 to ", world == 0 ? 0 : world - 1));
}

/// Reads `ports` of the place. `job` is a number to choose by where neither
/// variable is set.
absl::Status readPorts(const LaunchVariables &read, std::optional<uint64_t> job,
                       MeetingPlace &place) {
  ZG_ASSIGN_OR_RETURN(std::optional<unsigned> own,
                      read.number("ZEROGRAPH_PORT", 1, kLastPort));
  ZG_ASSIGN_OR_RETURN(std::optional<unsigned> master,
                      read.number("MASTER_PORT", 1, kLastPort));
  if (!own && !master && !job) {
    return absl::InvalidArgumentError(
        "neither the variable MASTER_PORT nor ZEROGRAPH_PORT is set: rank 0 "
        "must know where to listen. Set ZEROGRAPH_PORT to a port that is free "
        "on its host, the same on every rank");
  }
  absl::StrAppend(&place.source, own      ? " and ZEROGRAPH_PORT"
                                 : master ? " and MASTER_PORT"
                                          : " and the job's number");
  if (own) {
    place.ports = {uint16_t(*own)};
    return absl::OkStatus();
  }
  // torchrun's agent listens on MASTER_PORT itself, and the next one is that of
  // another job. No two jobs that meet at one host have the same.
  uint64_t chosen = master ? *master : *job;
  for (unsigned i = 0; i < kTries; ++i) {
    place.ports.push_back(
        uint16_t(kFirstPort + (chosen + i * kApart) % kPorts));
  }
  if (master) {
    absl::StrAppend(&place.run, place.run.empty() ? "" : ", ", "MASTER_PORT ",
                    *master);
  }
  return absl::OkStatus();
}

/// Reads the variables that torchrun sets, and others after it.
MaybeLaunch torchLaunch(const LaunchVariables &read) {
  ZG_ASSIGN_OR_RETURN(std::optional<unsigned> rank, read.number("RANK"));
  ZG_ASSIGN_OR_RETURN(std::optional<unsigned> world,
                      read.number("WORLD_SIZE", 1));
  if (!rank && !world) {
    return std::nullopt;
  }
  if (!rank || !world) {
    return absl::InvalidArgumentError(
        absl::StrCat("the variable ", rank ? "RANK" : "WORLD_SIZE",
                     " is set and ", rank ? "WORLD_SIZE" : "RANK",
                     " is not: set both, as torchrun does, or none"));
  }
  ZG_RETURN_IF_ERROR(checkRank("RANK", *rank, "WORLD_SIZE", *world));
  Launch launch;
  launch.launcher =
      read.has("TORCHELASTIC_RUN_ID") ? "torchrun" : "the launcher";
  launch.rank = *rank;
  launch.world = *world;
  if (*world == 1) {
    return std::nullopt; // with nobody to meet
  }
  MeetingPlace place;
  place.host = read.text("MASTER_ADDR");
  place.source = "MASTER_ADDR";
  place.run = read.text("TORCHELASTIC_RUN_ID");
  if (place.host.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the variable MASTER_ADDR is not set, and RANK and WORLD_SIZE are: ",
        "set it to the host of rank 0, which all of the ", *world,
        " ranks can reach"));
  }
  ZG_RETURN_IF_ERROR(readPorts(read, std::nullopt, place));
  launch.place = place;
  return launch;
}

/// Finds processes of an MPI. Here the numbers are not ours to judge: MPI will.
MaybeLaunch mpiLaunch(const LaunchVariables &read) {
  struct Names {
    const char *launcher;
    const char *rank;
    const char *world;
  };
  // Open MPI's mpirun, whatever starts processes over PMIx (srun --mpi=pmix),
  // and over PMI-1 or PMI-2 (srun --mpi=pmi2).
  constexpr Names kLaunchers[] = {
      {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"the launcher", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
      {"the launcher", "PMI_RANK", "PMI_SIZE"}};
  // Slurm's batch scripts have SLURM_PROCID too; what srun starts is a step.
  bool slurm = read.has("SLURM_STEP_NUM_TASKS");
  for (const Names &names : kLaunchers) {
    if (!read.has(names.rank)) {
      continue;
    }
    Launch launch;
    launch.launcher = slurm ? "srun" : names.launcher;
    ZG_ASSIGN_OR_RETURN(std::optional<unsigned> rank, read.number(names.rank));
    ZG_ASSIGN_OR_RETURN(std::optional<unsigned> world,
                        read.number(names.world));
    launch.rank = *rank;
    launch.world = world.value_or(0);
    if (slurm && &names == &kLaunchers[2]) {
      // Open MPI ends the process then, and does not say what to do.
      launch.doubt = "srun started this over PMI-1 or PMI-2 (--mpi=pmi2), "
                     "which Open MPI must have been built with; Debian's was "
                     "not. If it fails, start by srun --mpi=pmix";
    }
    return launch;
  }
  return std::nullopt;
}

/// Returns where rank 0 of a step of Slurm is: on the first of its nodes.
absl::StatusOr<MeetingPlace> placeOfStep(const LaunchVariables &read) {
  MeetingPlace place;
  for (const char *name : {"MASTER_ADDR", "SLURM_STEP_NODELIST",
                           "SLURM_NODELIST", "SLURM_LAUNCH_NODE_IPADDR"}) {
    place.host = firstHost(read.text(name));
    place.source = name;
    if (!place.host.empty()) {
      break;
    }
  }
  if (place.host.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "srun started ", read.text("SLURM_STEP_NUM_TASKS"),
        " processes without MPI (srun --mpi=pmix), and none of the variables "
        "SLURM_STEP_NODELIST and MASTER_ADDR names the host of rank 0: set "
        "MASTER_ADDR"));
  }
  unsigned job = 0, step = 0; // that are no numbers have no say
  (void)absl::SimpleAtoi(read.text("SLURM_JOB_ID"), &job);
  (void)absl::SimpleAtoi(read.text("SLURM_STEP_ID"), &step);
  place.run = absl::StrCat("job ", read.text("SLURM_JOB_ID"), ", step ",
                           read.text("SLURM_STEP_ID"));
  ZG_RETURN_IF_ERROR(readPorts(read, uint64_t(job) + step, place));
  return place;
}

MaybeLaunch slurmLaunch(const LaunchVariables &read) {
  ZG_ASSIGN_OR_RETURN(std::optional<unsigned> world,
                      read.number("SLURM_STEP_NUM_TASKS"));
  ZG_ASSIGN_OR_RETURN(std::optional<unsigned> rank,
                      read.number("SLURM_PROCID"));
  if (!rank || world.value_or(1) <= 1) {
    return std::nullopt;
  }
  if (read.has("SLURM_PTY_PORT")) {
    // The others may be shells, and may have ended.
    return absl::FailedPreconditionError(absl::StrCat(
        "this is one of ", *world,
        " processes of an srun with a terminal "
        "(--pty), and the others may not run this: in a shell that srun "
        "opened, unset SLURM_STEP_NUM_TASKS"));
  }
  ZG_RETURN_IF_ERROR(
      checkRank("SLURM_PROCID", *rank, "SLURM_STEP_NUM_TASKS", *world));
  Launch launch;
  launch.launcher = "srun";
  launch.rank = *rank;
  launch.world = *world;
  ZG_ASSIGN_OR_RETURN(launch.place, placeOfStep(read));
  return launch;
}

} // namespace

std::string zerograph::firstHost(const std::string &hosts) {
  std::string first;
  for (size_t at = 0; at < hosts.size() && hosts[at] != ',';) {
    if (hosts[at] != '[') {
      first += hosts[at++];
      continue;
    }
    size_t close = hosts.find(']', at);
    if (close == std::string::npos) {
      return "";
    }
    size_t end = std::min(hosts.find_first_of("-,", at), close);
    first += hosts.substr(at + 1, end - at - 1);
    at = close + 1;
  }
  return first;
}

MaybeLaunch zerograph::detectLaunch(const Variables &get) {
  LaunchVariables read(get);
  // torchrun may itself be a process of mpirun or srun, one a host.
  if (read.has("TORCHELASTIC_RUN_ID")) {
    return torchLaunch(read);
  }
  ZG_ASSIGN_OR_RETURN(std::optional<Launch> launch, mpiLaunch(read));
  MaybeLaunch torch = torchLaunch(read);
  if (!launch) {
    ZG_RETURN_IF_ERROR(torch.status());
    return *torch ? torch : slurmLaunch(read);
  }
  if (torch.ok() && *torch && launch->world != 0 &&
      ((*torch)->rank != launch->rank || (*torch)->world != launch->world)) {
    return absl::InvalidArgumentError(absl::StrCat(
        launch->launcher, " says that this is rank ", launch->rank, " of ",
        launch->world, ", and the variables RANK and WORLD_SIZE that it is ",
        "rank ", (*torch)->rank, " of ", (*torch)->world,
        ": unset those that do not hold"));
  }
  return launch;
}

absl::Status zerograph::needMpi(const Launch &launch) {
  if (!launch.place) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      launch.launcher, " started ", launch.world,
      " processes without MPI, and the plan is for the host, whose ranks "
      "exchange by MPI: for GPUs give --target cuda:native; else start them by "
      "srun --mpi=pmix or mpirun, or one process with --ranks ",
      launch.world));
}

absl::Status zerograph::needOneProcess() {
  ZG_ASSIGN_OR_RETURN(std::optional<Launch> launch, detectLaunch());
  if (launch && launch->world > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        launch->launcher, " started ", launch->world,
        " processes, and each would write the same file: start one, without ",
        launch->launcher));
  }
  return absl::OkStatus();
}
