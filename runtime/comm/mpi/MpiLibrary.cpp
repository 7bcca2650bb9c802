//===- MpiLibrary.cpp - MPI, opened at run time ---------------------------===//

#include "runtime/comm/mpi/MpiLibrary.h"

#include "runtime/base/Module.h"

#include <array>

using namespace zerograph;

absl::StatusOr<const MpiCalls *> zerograph::mpiCalls() {
  static const auto *opened = new absl::StatusOr<void *>(
      openModule(ZEROGRAPH_MPI_MODULE, ZEROGRAPH_MPI_CALLS));
  if (!opened->ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot open MPI (", opened->status().message(),
        "): install Open MPI 4 or 5 (Debian and Ubuntu: openmpi-bin); for "
        "another MPI compile the module ",
        ZEROGRAPH_MPI_MODULE, " with its mpicc, as docs/install.md says"));
  }
  return static_cast<const MpiCalls *>(**opened);
}

absl::StatusOr<std::string> zerograph::mpiVersion() {
  ZG_ASSIGN_OR_RETURN(const MpiCalls *mpi, mpiCalls());
  std::array<char, kMpiText> text;
  mpi->version(text.data());
  std::string version = text.data();
  return version.substr(0, version.find_first_of(",\n"));
}
