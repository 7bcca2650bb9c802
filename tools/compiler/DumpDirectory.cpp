//===- DumpDirectory.cpp - numbered IR files ------------------------------===//

#include "tools/compiler/DumpDirectory.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace zerograph {

absl::Status DumpDirectory::open() {
  if (directory.empty()) {
    return absl::OkStatus();
  }
  if (std::error_code error = llvm::sys::fs::create_directories(directory)) {
    return absl::UnavailableError(absl::StrCat(
        "--dump-ir: cannot make ", directory, ": ", error.message()));
  }
  return absl::OkStatus();
}

absl::Status DumpDirectory::write(const std::string &phase,
                                  mlir::ModuleOp module) {
  if (directory.empty()) {
    return absl::OkStatus();
  }
  std::string path =
      absl::StrFormat("%s/%02d-%s.mlir", directory, next++, phase);
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    mlir::OpPrintingFlags flags;
    flags.enableDebugInfo();
    module.print(file, flags);
    file << "\n";
    file.close();
    error = file.error();
  }
  if (error) {
    file.clear_error();
    return absl::UnavailableError(
        absl::StrCat("--dump-ir: cannot write ", path, ": ", error.message()));
  }
  return absl::OkStatus();
}

} // namespace zerograph
