//===- Calibrate.h - measures this machine --------------------------------===//

#ifndef ZEROGRAPH_TOOLS_CALIBRATE_CALIBRATE_H
#define ZEROGRAPH_TOOLS_CALIBRATE_CALIBRATE_H

#include "absl/status/statusor.h"

#include <string>

namespace zerograph {

/// Returns the text of a machine's file (simulate/Machine.h) for this one
/// without its GPUs, whose figures `threads` threads measured: products by
/// oneDNN, memory, how long threads take to meet, copies, and the disk of
/// `folder`. Takes some seconds; what else runs here makes figures worse.
absl::StatusOr<std::string> calibrateHost(unsigned threads,
                                          const std::string &folder);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CALIBRATE_CALIBRATE_H
