//===- DumpDirectory.h - numbered IR files --------------------------------===//

#ifndef ZEROGRAPH_TOOLS_COMPILER_DUMPDIRECTORY_H
#define ZEROGRAPH_TOOLS_COMPILER_DUMPDIRECTORY_H

#include "absl/status/status.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace zerograph {

/// Writes `DIR/00-import.mlir`, `DIR/01-...`: each readable, and runnable by
/// zerograph-opt, alone. One with constants longer than a line leaves these out
/// and says so; `DIR/00-import.whole.mlir` has them. Does nothing where the
/// directory is empty.
class DumpDirectory {
public:
  explicit DumpDirectory(std::string directory)
      : directory(std::move(directory)) {}

  /// Makes the directory where it is missing.
  absl::Status open();
  absl::Status write(const std::string &phase, mlir::ModuleOp module);

private:
  std::string directory;
  int next = 0;
};

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_COMPILER_DUMPDIRECTORY_H
