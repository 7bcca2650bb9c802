//===- Ptxas.cpp - NVIDIA's assembler, where there is one -----------------===//

#include "tests/codegen/Ptxas.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <optional>
#include <tuple>

using namespace mlir::zg;

static std::vector<int> registersIn(llvm::StringRef said) {
  std::vector<int> registers;
  while (!said.empty()) {
    llvm::StringRef line;
    std::tie(line, said) = said.split('\n');
    int count = 0;
    if (!line.split("Used ").second.consumeInteger(10, count)) {
      registers.push_back(count);
    }
  }
  llvm::sort(registers);
  return registers;
}

testing::Assembly testing::assemble(const std::string &ptxas,
                                    const std::string &architecture,
                                    const std::string &ptx) {
  Assembly assembly;
  llvm::SmallString<64> input, said;
  if (llvm::sys::fs::createTemporaryFile("kernels", "ptx", input) ||
      llvm::sys::fs::createTemporaryFile("ptxas", "txt", said)) {
    assembly.error = "cannot make temporary files";
    return assembly;
  }
  llvm::FileRemover removeInput(input), removeSaid(said);
  std::error_code error;
  llvm::raw_fd_ostream(input, error) << ptx;
  std::string target = "-arch=" + architecture;
  auto begin = std::chrono::steady_clock::now();
  int status = llvm::sys::ExecuteAndWait(
      ptxas,
      {ptxas, "-v", "-Werror", "--warn-on-spills",
       "--warn-on-local-memory-usage", target, "-o", "/dev/null", input},
      std::nullopt, {llvm::StringRef(), said.str(), said.str()});
  assembly.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  auto text = llvm::MemoryBuffer::getFile(said);
  std::string all = text ? (*text)->getBuffer().str() : "";
  assembly.registers = registersIn(all);
  if (status != 0) {
    assembly.error = "ptxas ends with " + std::to_string(status) + ": " + all;
  }
  return assembly;
}

std::string testing::Assembly::summary() const {
  if (registers.empty()) {
    return "no kernels";
  }
  size_t count = registers.size();
  return llvm::formatv("{0} kernels, {1:F1} ms each, registers: {2} at most, "
                       "median {3}",
                       count, seconds * 1000 / double(count), registers.back(),
                       registers[count / 2])
      .str();
}
