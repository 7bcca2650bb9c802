//===- Launch.cpp - who started this process ------------------------------===//

#include "runtime/comm/mpi/Launch.h"

#include "runtime/base/Status.h"

#include "absl/strings/numbers.h"

#include <cstdlib>

using namespace zerograph;

namespace {

std::optional<unsigned> number(const char *name) {
  const char *text = std::getenv(name);
  unsigned value = 0;
  if (!text || !absl::SimpleAtoi(text, &value)) {
    return std::nullopt;
  }
  return value;
}

} // namespace

absl::StatusOr<std::optional<Launch>> zerograph::detectLaunch() {
  struct Variables {
    const char *launcher;
    const char *rank;
    const char *world;
  };
  // Open MPI's mpirun, whatever starts processes over PMIx (srun --mpi=pmix),
  // and over PMI-1 or PMI-2 (srun --mpi=pmi2).
  constexpr Variables kLaunchers[] = {
      {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"the launcher", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
      {"the launcher", "PMI_RANK", "PMI_SIZE"}};
  // Slurm's batch scripts have SLURM_PROCID too; what srun starts is a step.
  std::optional<unsigned> tasks = number("SLURM_STEP_NUM_TASKS");
  for (const Variables &names : kLaunchers) {
    if (std::optional<unsigned> rank = number(names.rank)) {
      Launch launch;
      launch.launcher = tasks ? "srun" : names.launcher;
      launch.rank = *rank;
      launch.world = number(names.world).value_or(0);
      if (tasks && &names == &kLaunchers[2]) {
        // Open MPI ends the process then, and does not say what to do.
        launch.doubt = "srun started this over PMI-1 or PMI-2 (--mpi=pmi2), "
                       "which Open MPI must have been built with; Debian's was "
                       "not. If it fails, start by srun --mpi=pmix";
      }
      return launch;
    }
  }
  if (tasks.value_or(1) > 1 && number("SLURM_PROCID")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "srun started ", *tasks,
        " processes that do not know of each other. Start them by srun "
        "--mpi=pmix, or one of them with --ranks ",
        *tasks,
        std::getenv("SLURM_PTY_PORT")
            ? "; in a shell that srun opened, unset SLURM_STEP_NUM_TASKS"
            : ""));
  }
  return std::nullopt;
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
