//===- SaveFile.h - states of all ranks into a file -----------------------===//

#ifndef ZEROGRAPH_RUNTIME_EXEC_SAVEFILE_H
#define ZEROGRAPH_RUNTIME_EXEC_SAVEFILE_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/state/WeightFile.h"

namespace zerograph {

/// A file that is saved, the same for every rank.
struct SaveRequest {
  std::string what; ///< "saving weights", for messages
  std::string path;
  WeightFileOptions options;
};

/// Writes what all ranks hold; every rank calls it. `writer` is the file,
/// reserved by rank 0, of which ranks of one process share the pointer; null in
/// other processes. Where the file cannot be written any more, as its folder is
/// gone or its disk full, rank 0 makes a folder for it, that nobody else can
/// enter, in the first that works of the current folder, $TMPDIR, /tmp and
/// $HOME. Returns what is to be said of that, or nothing; an error where none
/// works.
absl::StatusOr<std::string> saveFile(ControlPlane &control,
                                     const SaveRequest &request,
                                     std::unique_ptr<SafetensorsWriter> &writer,
                                     const plan::Plan &plan,
                                     const RankMemory &memory);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_EXEC_SAVEFILE_H
