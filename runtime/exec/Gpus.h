//===- Gpus.h - which GPU a rank has --------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_GPUS_H
#define ZEROGRAPH_RUNTIME_EXEC_GPUS_H

#include "runtime/backend/Backend.h"
#include "runtime/exec/Machine.h"
#include "runtime/exec/Session.h"

namespace zerograph {

/// Returns how many GPUs ranks have that are threads of this process: 1, for
/// all of them, or as many as there are ranks, rank r on GPU r. With several
/// GPUs and more ranks it is an error, which says how to choose. It is 1 for a
/// plan for the processor.
absl::StatusOr<unsigned> gpusOfThreads(const plan::Plan &plan);

/// Returns the number of the GPU of the rank that is this process: the only one
/// that it sees, or, of several, by its number among the ranks that see the
/// same ones. Where all see all of a machine that is what launchers call a
/// local rank; where launchers or containers give ranks GPUs of their own, it
/// needs no such number. All ranks call it. It is 0 for a plan for the
/// processor.
absl::StatusOr<unsigned> gpuOfProcess(const plan::Plan &plan,
                                      ControlPlane &control);

/// Returns the memory of the machine's GPU, on which `ranks` ranks still have
/// their arenas; nothing for the processor. `open` bytes were in use when what
/// ranks exchange by was open.
absl::StatusOr<std::optional<GpuMemory>>
gpuMemory(const Machine &machine, const plan::Plan &plan, unsigned ranks,
          std::optional<uint64_t> open);

/// Says on what the ranks run, where that is GPUs or several machines.
absl::Status logPlacement(const Session &session, const Machine &machine,
                          const LocalTopology &neighbours);

/// Returns the session's options for how ranks exchange.
ExchangeOptions exchangeOptions(const Session &session);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_GPUS_H
