//===- Processes.cpp - `train` by processes that a launcher started -------===//

#include "tools/cli/Processes.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/exec/StopSignal.h"
#include "runtime/plan/Mesh.h"
#include "tools/cli/GivenOptions.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace zerograph {
namespace {

/// The time for what other ranks may still have to say or to tidy up after one
/// failed: more than the time in which that one tells the others, among them
/// one that is gone, before it speaks itself. Some launchers (srun) end all at
/// once.
constexpr std::chrono::milliseconds kLastWords(1500);

/// Returns the path of a compiled model's weights, as tools/compiler names it.
std::string weightsBeside(const std::string &plan_path) {
  return plan_path + ".weights.safetensors";
}

/// Stands between texts: no option and no value has one.
const std::string kBetween(1, '\0');

/// Reads names and values in turn.
std::map<std::string, std::string> parseSettings(const std::string &text) {
  std::map<std::string, std::string> settings;
  std::vector<std::string> parts = absl::StrSplit(text, kBetween);
  for (size_t i = 0; i + 1 < parts.size(); i += 2) {
    settings[parts[i]] = parts[i + 1];
  }
  return settings;
}

} // namespace

std::map<std::string, std::string> givenOptions(const CLI::App &command) {
  // These are each rank's own: they may differ from host to host, and no value
  // of the run depends on them.
  const std::set<std::string> kOwn = {"--data", "--eval-data", "--threads",
                                      "--log", "--tensorboard"};
  std::map<std::string, std::string> given;
  forEachGiven(command, [&](const CLI::Option &option) {
    if (kOwn.count(option.get_name()) == 0) {
      given[option.get_name()] = absl::StrJoin(option.results(), " ");
    }
  });
  return given;
}

absl::StatusOr<std::shared_ptr<Processes>>
Processes::join(const Launch &launch, double deadline_seconds) {
  if (launch.rank == 0 && !launch.doubt.empty()) {
    // The doubt is said at once: MPI may end the process before notes are
    // released.
    std::fprintf(stderr, "note: %s\n", launch.doubt.c_str());
  }
  std::shared_ptr<Processes> processes(new Processes(launch));
  std::chrono::duration<double> deadline(deadline_seconds);
  if (launch.place) {
    TcpOptions options;
    options.deadline = deadline;
    ZG_ASSIGN_OR_RETURN(processes->tcp, TcpControlPlane::join(launch, options));
    processes->none.emplace(*processes->tcp);
    return processes;
  }
  MpiOptions options;
  options.deadline = deadline;
  options.told_to_end = [] { return StopSignal::number() == SIGTERM; };
  absl::StatusOr<std::unique_ptr<MpiCommunicator>> joined =
      MpiCommunicator::join(launch, options);
  if (!joined.ok()) {
    return annotate(joined.status(), absl::StrCat("rank ", launch.rank));
  }
  processes->mpi = *std::move(joined);
  return processes;
}

ControlPlane &Processes::control() const {
  if (mpi) {
    return *mpi;
  }
  return *tcp;
}

Collectives &Processes::collectives() {
  if (mpi) {
    return *mpi;
  }
  return *none;
}

const Peers &Processes::peers() const {
  return mpi ? mpi->peers() : tcp->peers();
}

unsigned Processes::threads() const {
  // Counts the processors that this process may use.
  return std::max(1u, std::thread::hardware_concurrency() / peers().sharing());
}

absl::Status Processes::give(MadePlan &made) {
  ZG_ASSIGN_OR_RETURN(std::string bytes, serializePlan(made.plan.plan));
  ZG_RETURN_IF_ERROR(
      control().broadcast("handing out the plan", bytes).status());
  // The plan is read from the same bytes as the others have, and so has the
  // same hash.
  ZG_ASSIGN_OR_RETURN(made.plan, parsePlan(bytes));
  std::string settings =
      absl::StrJoin(made.settings, kBetween, absl::PairFormatter(kBetween));
  for (const std::string &text : {settings, made.path, made.model}) {
    ZG_RETURN_IF_ERROR(
        control().broadcast("handing out the plan", text).status());
  }
  if (made.model.empty()) {
    return absl::OkStatus();
  }
  std::ostringstream weights;
  if (std::ifstream file(weightsBeside(made.path), std::ios::binary); file) {
    weights << file.rdbuf();
  }
  return control().broadcast("handing out weights", weights.str()).status();
}

absl::StatusOr<MadePlan> Processes::take() {
  MadePlan made;
  ZG_ASSIGN_OR_RETURN(std::string bytes,
                      control().broadcast("handing out the plan", ""));
  ZG_ASSIGN_OR_RETURN(made.plan, parsePlan(bytes));
  ZG_ASSIGN_OR_RETURN(std::string settings,
                      control().broadcast("handing out the plan", ""));
  made.settings = parseSettings(settings);
  ZG_ASSIGN_OR_RETURN(made.path,
                      control().broadcast("handing out the plan", ""));
  ZG_ASSIGN_OR_RETURN(made.model,
                      control().broadcast("handing out the plan", ""));
  if (made.model.empty()) {
    return made; // its path is the same: that was compared
  }
  ZG_ASSIGN_OR_RETURN(std::string weights,
                      control().broadcast("handing out weights", ""));
  ZG_ASSIGN_OR_RETURN(made.folder, TemporaryFolder::make());
  made.path = made.folder->path() + "/plan";
  if (!weights.empty()) {
    std::ofstream file(weightsBeside(made.path), std::ios::binary);
    file << weights;
    if (!file.flush()) {
      return absl::UnavailableError(
          absl::StrCat("cannot write ", weightsBeside(made.path)));
    }
  }
  return made;
}

/// Does rank 0's part of `share`.
absl::StatusOr<MadePlan> Processes::make(const PlanSource &source) {
  unsigned world = control().world();
  ZG_ASSIGN_OR_RETURN(MadePlan made, source.make(world));
  if (made.plan.plan.devices(0).device() == "host") {
    ZG_RETURN_IF_ERROR(needMpi(launch));
  }
  if (worldOf(made.plan.plan) != world) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the plan is for ", worldOf(made.plan.plan), " ranks, and ", world,
        " processes were started, each of which is one rank: start ",
        worldOf(made.plan.plan), ", or compile with --ranks ", world));
  }
  return made;
}

absl::StatusOr<MadePlan> Processes::share(const PlanSource &source) {
  absl::StatusOr<MadePlan> made = MadePlan();
  if (control().rank() == 0) {
    control().setBusy(true);
    made = make(source);
    control().setBusy(false);
  }
  ZG_RETURN_IF_ERROR(agree(control(), "making the plan", made.status()));
  absl::Status status;
  if (control().rank() == 0) {
    status = give(*made);
  } else {
    made = take();
    status = made.status();
  }
  ZG_RETURN_IF_ERROR(agree(control(), "handing out the plan", status));
  return made;
}

absl::StatusOr<int> Processes::explain(const absl::Status &status) const {
  if (!control().failure().ok()) {
    return annotate(status, absl::StrCat("rank ", control().rank()));
  }
  if (control().rank() != 0) {
    return 1; // said by rank 0, for all
  }
  return status;
}

absl::Status Processes::finish() { return mpi ? mpi->finish() : tcp->finish(); }

void Processes::end() {
  absl::Status status = control().failure();
  if (status.ok()) {
    status = finish();
    if (!status.ok()) {
      std::fprintf(stderr, "rank %u: %s\n", launch.rank,
                   std::string(status.message()).c_str());
    }
  }
  if (!status.ok()) {
    std::this_thread::sleep_for(kLastWords);
    if (mpi) {
      mpi->abortAll();
    }
  }
  none.reset();
  tcp.reset();
}

} // namespace zerograph
