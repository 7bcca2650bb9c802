//===- RankReport.h - what ranks tell rank 0 at the end -------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_RANKREPORT_H
#define ZEROGRAPH_RUNTIME_EXEC_RANKREPORT_H

#include "runtime/exec/Trace.h"
#include "runtime/exec/Train.h"

namespace zerograph {

/// Adds what a rank has received, or its device, host and file.
void add(const TrafficCount &received, exec::Traffic &sum);
void add(const HostTraffic &crossed, exec::HostTransfers &sum);
/// Adds the times of a rank's steps.
void add(const StepTimes &times, exec::RankReport &report);

/// Returns the times of all ranks by rank 0's clock. Clocks that differ by less
/// than a second are taken for those of one machine: they differ by no more
/// than ranks become ready apart. Another machine's times are moved so that the
/// ranks become ready together.
std::vector<StepTimes>
timesByOneClock(const std::vector<exec::RankReport> &ranks);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_RANKREPORT_H
