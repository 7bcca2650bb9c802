//===- MpiLibrary.h - MPI, opened at run time -----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_MPI_MPILIBRARY_H
#define ZEROGRAPH_RUNTIME_COMM_MPI_MPILIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/comm/mpi/module/MpiCalls.h"

#include <string>

namespace zerograph {

/// Returns the functions of the MPI that is installed; opened once, never
/// closed. An error says what is missing and what to do. Thread-safe.
absl::StatusOr<const MpiCalls *> mpiCalls();

/// Returns "Open MPI v4.1.4"; needs no launcher.
absl::StatusOr<std::string> mpiVersion();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_MPI_MPILIBRARY_H
