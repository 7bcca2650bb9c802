//===- Gpus.h - which GPU a rank has --------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_GPUS_H
#define ZEROGRAPH_RUNTIME_EXEC_GPUS_H

#include "runtime/comm/nccl/NcclCollectives.h"
#include "runtime/exec/Session.h"

namespace zerograph {

bool isForGpus(const plan::Plan &plan);

/// Of ranks that are threads of this process: 1, for all of them, or as many as
/// there are ranks, rank r on GPU r. With several GPUs and more ranks an error,
/// that says how to choose. 1 of a plan for the processor.
absl::StatusOr<unsigned> gpusOfThreads(const plan::Plan &plan);

/// Of the rank that is this process, one GPU: the only one that it sees, or, of
/// several, by its number among the ranks that see the same ones. Where all see
/// all of a machine that is what launchers call a local rank; where launchers
/// or containers give ranks GPUs of their own, it needs no such number. All
/// ranks call it. 0 of a plan for the processor.
absl::StatusOr<unsigned> gpuOfProcess(const plan::Plan &plan,
                                      ControlPlane &control);

/// Of the machine's GPU, on which `ranks` ranks still have their arenas;
/// nothing of the processor.
absl::StatusOr<std::optional<GpuMemory>>
gpuMemory(const Machine &machine, const plan::Plan &plan, unsigned ranks);

/// Opens what a rank on `machine` exchanges by, together with the other ranks.
absl::Status openCollectives(Machine &machine, Collectives &collectives);

/// Says on what the ranks run, where that is GPUs or several machines.
absl::Status sayWhere(const Session &session, const Neighbours &neighbours);

/// What the session says of how ranks exchange.
NcclOptions ncclOptions(const Session &session);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_GPUS_H
