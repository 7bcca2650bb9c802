//===- DumpDirectory.cpp - numbered IR files ------------------------------===//

#include "tools/compiler/DumpDirectory.h"

#include "runtime/base/Status.h"
#include "tools/compiler/DumpText.h"

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

static absl::Status writeText(const std::string &path,
                              const std::string &text) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    file << text;
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

absl::Status DumpDirectory::write(const std::string &phase,
                                  mlir::ModuleOp module) {
  if (directory.empty()) {
    return absl::OkStatus();
  }
  std::string name = absl::StrFormat("%02d-%s", next++, phase);
  std::string whole = absl::StrCat(name, ".whole.mlir"), text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo();
  module.print(stream, flags);
  text = withPlaces(text + "\n");
  std::string shortened = withoutLongConstants(text, whole);
  if (shortened != text) {
    ZG_RETURN_IF_ERROR(writeText(absl::StrCat(directory, "/", whole), text));
    shortened = absl::StrCat("// Constants longer than a line are in ", whole,
                             ", which zerograph-opt reads.\n", shortened);
  }
  return writeText(absl::StrCat(directory, "/", name, ".mlir"), shortened);
}

} // namespace zerograph
