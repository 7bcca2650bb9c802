//===- SplitProgram.h - a program's steps by the devices that run them ----===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_SPLITPROGRAM_H
#define ZEROGRAPH_RUNTIME_EXEC_SPLITPROGRAM_H

#include "runtime/device/Device.h"

namespace zerograph {

/// The steps of a program that one device runs: `steps` of the binding have all
/// but their ranges, operations and module. Where one awaits a step of another
/// device, a counter tells it: that of the other step's stream, which counts
/// the steps of the stream that are done.
struct ProgramPart {
  unsigned device = 0;
  ProgramBinding binding;
};

/// Returns one part for each device that has steps, in the devices' order; each
/// has all of the plan's streams. `device_of` goes by the number of the stream.
std::vector<ProgramPart> splitProgram(const plan::Program &program,
                                      const std::vector<StreamBinding> &streams,
                                      const std::vector<unsigned> &device_of);

/// Returns whether a part awaits another, and counters are needed: as many as
/// streams.
bool needCounters(const std::vector<ProgramPart> &parts);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_SPLITPROGRAM_H
