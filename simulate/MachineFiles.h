//===- MachineFiles.h - the files of machines/ ----------------------------===//

#ifndef ZEROGRAPH_SIMULATE_MACHINEFILES_H
#define ZEROGRAPH_SIMULATE_MACHINEFILES_H

#include "runtime/base/EmbeddedFile.h"

#include <vector>

namespace zerograph::simulate {

/// Returns them in the order of their names.
const std::vector<EmbeddedFile> &machineFiles();

} // namespace zerograph::simulate

#endif // ZEROGRAPH_SIMULATE_MACHINEFILES_H
