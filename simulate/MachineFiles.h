//===- MachineFiles.h - the files of machines/ ----------------------------===//

#ifndef ZEROGRAPH_SIMULATE_MACHINEFILES_H
#define ZEROGRAPH_SIMULATE_MACHINEFILES_H

#include "absl/strings/string_view.h"

#include <vector>

namespace zerograph::simulate {

struct MachineFile {
  absl::string_view name; ///< without its ending
  absl::string_view text;
};

/// Returns them in the order of their names: the program holds their texts.
const std::vector<MachineFile> &machineFiles();

} // namespace zerograph::simulate

#endif // ZEROGRAPH_SIMULATE_MACHINEFILES_H
