//===- Ptxas.cpp - NVIDIA's assembler, where there is one -----------------===//

#include "tests/codegen/Ptxas.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

using namespace mlir::zg;

std::string testing::findPtxas() {
  if (auto found = llvm::sys::findProgramByName("ptxas")) {
    return *found;
  }
  auto found = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"});
  return found ? *found : "";
}

std::string testing::assemble(const std::string &ptxas,
                              const std::string &architecture,
                              const std::string &ptx) {
  llvm::SmallString<64> input, said;
  if (llvm::sys::fs::createTemporaryFile("kernels", "ptx", input) ||
      llvm::sys::fs::createTemporaryFile("ptxas", "txt", said)) {
    return "cannot make temporary files";
  }
  llvm::FileRemover removeInput(input), removeSaid(said);
  std::error_code error;
  llvm::raw_fd_ostream(input, error) << ptx;
  std::string target = "-arch=" + architecture;
  int status = llvm::sys::ExecuteAndWait(
      ptxas,
      {ptxas, "-Werror", "--warn-on-spills", "--warn-on-local-memory-usage",
       target, "-o", "/dev/null", input},
      std::nullopt, {llvm::StringRef(), said.str(), said.str()});
  if (status == 0) {
    return "";
  }
  auto text = llvm::MemoryBuffer::getFile(said);
  return "ptxas ends with " + std::to_string(status) + ": " +
         (text ? (*text)->getBuffer().str() : "");
}
