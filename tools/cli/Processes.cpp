//===- Processes.cpp - `train` by processes that a launcher started -------===//

#include "tools/cli/Processes.h"

#include "absl/strings/str_join.h"
#include "runtime/backend/Backend.h"
#include "runtime/comm/ParseMessage.h"
#include "runtime/exec/StopSignal.h"
#include "runtime/plan/Mesh.h"
#include "tools/cli/GivenOptions.h"
#include "tools/cli/handed_plan.pb.h"

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

absl::Status Processes::handOut(CompiledPlan &made) {
  cli::HandedPlan handed;
  if (control().rank() == 0) {
    ZG_ASSIGN_OR_RETURN(*handed.mutable_plan(), serializePlan(made.plan.plan));
    handed.set_path(made.path);
    handed.set_model(made.model);
    handed.mutable_settings()->insert(made.settings.begin(),
                                      made.settings.end());
  }
  ZG_ASSIGN_OR_RETURN(
      std::string text,
      control().broadcast("handing out the plan", handed.SerializeAsString()));
  ZG_ASSIGN_OR_RETURN(handed, parseMessage<cli::HandedPlan>(text));
  // Rank 0 too reads the plan from these bytes, and so has the same hash.
  ZG_ASSIGN_OR_RETURN(made.plan, parsePlan(handed.plan()));
  made.path = handed.path();
  made.model = handed.model();
  for (const auto &[name, value] : handed.settings()) {
    made.settings[name] = value;
  }
  // The path of a plan that was there before is the same: that was compared.
  return made.model.empty() ? absl::OkStatus() : handOutWeights(made);
}

absl::Status Processes::handOutWeights(CompiledPlan &made) {
  std::ostringstream own;
  if (control().rank() == 0) {
    if (std::ifstream file(weightsBeside(made.path), std::ios::binary); file) {
      own << file.rdbuf();
    }
  }
  ZG_ASSIGN_OR_RETURN(std::string weights,
                      control().broadcast("handing out weights", own.str()));
  if (control().rank() == 0) {
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(made.folder, TemporaryFolder::make());
  made.path = made.folder->path() + "/plan";
  if (weights.empty()) {
    return absl::OkStatus();
  }
  std::ofstream file(weightsBeside(made.path), std::ios::binary);
  file << weights;
  return file.flush() ? absl::OkStatus()
                      : absl::UnavailableError(absl::StrCat(
                            "cannot write ", weightsBeside(made.path)));
}

absl::Status Processes::checkPlan(const plan::Plan &plan) const {
  unsigned world = control().world(), ranks = worldOf(plan);
  if (!backendOf(plan).accelerates()) {
    ZG_RETURN_IF_ERROR(needMpi(launch));
  }
  return ranks == world
             ? absl::OkStatus()
             : absl::FailedPreconditionError(absl::StrCat(
                   "the plan is for ", ranks, " ranks, and ", world,
                   " processes were started, each of which is one rank: start ",
                   ranks, ", or compile with --ranks ", world));
}

/// Does rank 0's part of `share`.
absl::StatusOr<CompiledPlan> Processes::make(const PlanSource &source) {
  ZG_ASSIGN_OR_RETURN(CompiledPlan made, source.make(control().world()));
  ZG_RETURN_IF_ERROR(checkPlan(made.plan.plan));
  return made;
}

absl::StatusOr<CompiledPlan> Processes::share(const PlanSource &source) {
  absl::StatusOr<CompiledPlan> made = CompiledPlan();
  if (control().rank() == 0) {
    control().setBusy(true);
    made = make(source);
    control().setBusy(false);
  }
  ZG_RETURN_IF_ERROR(agree(control(), "making the plan", made.status()));
  ZG_RETURN_IF_ERROR(agree(control(), "handing out the plan", handOut(*made)));
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
